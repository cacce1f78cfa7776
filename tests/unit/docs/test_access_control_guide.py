"""The guide to access control agrees with the code."""

import re

import pytest

from braid.schemas.access import AccessScope
from braid.service.access.route_scopes import SCOPES
from braid.service.issuers import parse_issuers
from tests.support.doc_examples import ROOT, doc_examples

GUIDE = ROOT / "docs" / "guides" / "access-control.md"
REFERENCE = (ROOT / "docs" / "reference" / "http-api.md").read_text()


def test_the_file_of_issuers_is_valid() -> None:
    (example,) = doc_examples(GUIDE, "file")

    (issuer,) = parse_issuers(example.text.encode(), source="issuers.toml")

    assert [str(grant) for grant in issuer.grants] == ["read:shop.*,crm.*", "admin:*"]


@pytest.mark.parametrize("scope", [scope for scope in AccessScope if scope is not AccessScope.READ])
def test_the_reference_names_the_requests_of_each_scope(scope: AccessScope) -> None:
    (row,) = re.findall(rf"^\| `{scope.value}` \| (.*) \|$", REFERENCE, re.MULTILINE)
    named = set(re.findall(r"`(.+?)`", row))
    required = {
        _short(method, path)
        for (method, path), requirement in SCOPES.items()
        if requirement is not None and requirement.scope is scope
    }

    assert named == required


def _short(method: str, path: str) -> str:
    """Return the request as the reference names it: from its last name on, with the name of its kind."""
    parts = path.removeprefix("/v1/").split("/")
    shown = parts[-1:]
    is_name = parts[-1].startswith("{") and parts[-1] != "{table}"
    if is_name or (method, path.rsplit("/", 1)[-1]) in _LONGER:
        shown = parts[-2:]
    return f"{method} …/{'/'.join(shown)}"


_LONGER = {("POST", "replay"), ("DELETE", "replay")}
