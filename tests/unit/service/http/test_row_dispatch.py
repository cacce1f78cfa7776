"""Rows are answered before the framework, and yet inside of the same layers as every other address."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.settings import ServiceSettings
from tests.unit.service.http_client import HttpClient


def app_for(*hosts: str) -> BraidApp:
    clock = ManualClock()
    storage = MemoryFileIO(clock=clock)
    settings = ServiceSettings(warehouse="/w", hosts=hosts)
    return create_app(settings, file_io=storage, clock=clock)


@pytest.mark.parametrize("path", ["/v1/tables/a/b/rows", "/v1/tables/a/b/rows/status"])
def test_other_methods_of_the_address_of_rows_are_refused_by_the_framework(path: str) -> None:
    refused = HttpClient(app_for("*")).request("HEAD", path)

    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET"


def test_the_framework_documents_what_is_answered_before_it() -> None:
    operation = app_for().openapi()["paths"]["/v1/tables/{database}/{table}/rows"]["get"]

    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/WideRow"}


@pytest.mark.parametrize("path", ["rows/lookup", "views/short/lookup"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "invalid_request"),
        (b"{", 400, "malformed_request"),
        (b'{"keys": 1}', 422, "invalid_request"),
        (b'{"keys": [{"id": 1}], "more": 1}', 422, "invalid_request"),
        (b'{"keys": [{"id": 1}]}', 404, "table_not_found"),
        (b'{"keys": [{"id": "%s"}]}' % (b"1" * 20_000), 404, "table_not_found"),
    ],
    ids=["empty", "not JSON", "no list", "unknown field", "as declared", "large"],
)
def test_a_body_that_is_not_as_declared_is_refused_by_the_framework(
    path: str, body: bytes, status: int, code: str
) -> None:
    client = HttpClient(app_for("*"))

    refused = client.request("POST", f"/v1/tables/a/b/{path}", content=body)

    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_lookup_with_another_method_is_refused_by_the_framework() -> None:
    refused = HttpClient(app_for("*")).request("PUT", "/v1/tables/a/b/rows/lookup", content=b"{}")

    assert refused.status_code == 405
