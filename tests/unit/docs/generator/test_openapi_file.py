"""The committed OpenAPI document is that of the service, so a change of the API is a diff that somebody reviews."""

import difflib
import json
from itertools import islice

import pytest

from docs.generate import ROOT
from docs.generator.openapi_file import PAGE, openapi_text
from docs.generator.operation_pages import openapi_document

SHOWN_LINES = 200


def test_the_committed_document_is_that_of_the_service() -> None:
    committed = (ROOT / PAGE).read_text(encoding="utf-8")
    served = openapi_text(openapi_document())

    if served != committed:
        lines = difflib.unified_diff(
            committed.splitlines(), served.splitlines(), "committed", "served", n=6, lineterm=""
        )
        shown = "\n".join(islice(lines, SHOWN_LINES))
        rules = "CONTRIBUTING.md, *Change the API*, says which changes break clients; `make docs` accepts this one"
        pytest.fail(f"the API has changed: {rules}\n{shown}", pytrace=False)


def test_the_order_of_names_does_not_matter() -> None:
    one = {"paths": {"/b": 1, "/a": {"x": [2, 1], "ä": None}}, "info": {}}
    other = {"info": {}, "paths": {"/a": {"ä": None, "x": [2, 1]}, "/b": 1}}

    assert openapi_text(one) == openapi_text(other)
    assert json.loads(openapi_text(one)) == one
    assert openapi_text(one).splitlines()[:3] == ["{", '  "info": {},', '  "paths": {']
