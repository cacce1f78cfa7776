"""Reference pages of HTTP operations: one section for each, with its parameters, bodies, answers and problems."""

from typing import Any

import pytest

from docs.generator.operation_pages import Operation, operation_pages

DECLARED = {"TableSpec": "[Table](../declarations/tables.md#table)"}
OPERATION: dict[str, Any] = {
    "summary": "Create Table",
    "description": "Create a table.",
    "security": [{"token": ["admin"]}],
    "parameters": [
        {
            "name": "keep_data",
            "in": "query",
            "schema": {"type": "boolean", "default": False},
            "description": "Whether files stay.",
        },
        {"name": "table", "in": "path", "required": True, "schema": {"type": "string"}},
    ],
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TableSpec"}}},
    },
    "responses": {
        "201": {
            "description": "Created",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/View"}}},
        },
        "409": {
            "description": "`table_exists`: Exists; `conflict`: Lost",
            "content": {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            },
        },
    },
}
DOCUMENT: dict[str, Any] = {
    "paths": {"/v1/tables/{database}/{table}": {"put": OPERATION}},
    "components": {
        "schemas": {
            "TableSpec": {"type": "object"},
            "View": {
                "description": "A table.",
                "properties": {
                    "rows": {"type": "integer", "description": "How many."},
                    "next": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["rows"],
            },
            "Kind": {"enum": ["a", "b"]},
        }
    },
}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/v1", "service"),
        ("/health", "service"),
        ("/v1/tables", "tables"),
        ("/v1/tables/{database}/{table}", "tables"),
        ("/v1/tables/{database}/{table}:test", "tables"),
        ("/v1/tables/{database}/{table}/rows/lookup", "rows"),
        ("/v1/operations/{operation}:cancel", "operations"),
    ],
)
def test_an_operation_is_on_the_page_of_its_part_of_the_addresses(path: str, part: str) -> None:
    assert Operation(method="GET", path=path, described={}).part == part


def test_the_section_of_an_operation_has_all_that_the_document_says() -> None:
    page = operation_pages(DOCUMENT, DECLARED)["docs/reference/operations/tables.md"]

    for text in (
        "## `PUT /v1/tables/{database}/{table}`\n\nCreate a table.\n",
        "Needs the [scope](../http-api.md#access-control) `admin`.\n",
        "| `keep_data` | query | `true` or `false` | `false` | Whether files stay. |",
        "| `table` | path | text | required |  |",
        "Body (`application/json`): [Table](../declarations/tables.md#table).",
        "| 201 | Created | [View](contracts.md#view) (`application/json`) |",
        "| 409 | `table_exists`, `conflict` |",
    ):
        assert text in page


def test_contracts_without_a_page_of_declarations_have_a_section() -> None:
    page = operation_pages(DOCUMENT, DECLARED)["docs/reference/operations/contracts.md"]

    assert "## View\n\nA table.\n" in page
    assert "| `rows` | integer | required | How many. |" in page
    assert "| `next` | text | `null` |  |" in page
    assert "## Kind\n\n- `a`\n- `b`" in page
    assert "## TableSpec" not in page


def test_the_index_lists_every_operation() -> None:
    page = operation_pages(DOCUMENT, DECLARED)["docs/reference/operations/README.md"]

    assert "| `PUT /v1/tables/{database}/{table}` | Create Table |" in page
