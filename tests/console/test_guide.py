"""The addresses in the guide to the console lead to views."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.visitor import Visitor
from tests.support.doc_examples import ROOT

pytestmark = pytest.mark.integration
GUIDE = (ROOT / "docs" / "guides" / "console.md").read_text(encoding="utf-8")
ADDRESSES = re.findall(r"^\| `/console/#/(.*?)` \|", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_address_leads_to_a_view(visitor: Visitor, address: str) -> None:
    page = visitor.open(address)

    expect(page.get_by_text("Nothing is at this address")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
