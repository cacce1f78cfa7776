"""Clauses become the changes that a request has."""

from typing import Any

import pytest

from braid.cli.alter_clauses import parse_clause
from braid.schemas import SchemaChanges


@pytest.mark.parametrize(
    ("clause", "fields"),
    [
        ("ADD note STRING", {"change": "add_column", "column": ("note",), "type": "STRING"}),
        (
            "add column `odd name` DECIMAL(10, 2) comment 'it''s' default '0' after id in sales "
            "from a.b",
            {
                "change": "add_column",
                "column": ("odd name",),
                "type": "DECIMAL(10, 2)",
                "description": "it's",
                "default": "0",
                "position": {"place": "after", "neighbour": "id"},
                "sequence_group": "sales",
                "source": "a.b",
            },
        ),
        (
            "ADD address.zip ROW<a INT, b STRING> FIRST",
            {
                "change": "add_column",
                "column": ("address", "zip"),
                "type": "ROW<a INT, b STRING>",
                "position": {"place": "first"},
            },
        ),
        (
            "ADD n INT DEFAULT -5.0 FIRST",
            {
                "change": "add_column",
                "column": ("n",),
                "type": "INT",
                "default": "-5.0",
                "position": {"place": "first"},
            },
        ),
        ("DROP COLUMN note", {"change": "drop_column", "column": ("note",)}),
        ("drop a.b", {"change": "drop_column", "column": ("a", "b")}),
        (
            "RENAME note TO `re mark`",
            {"change": "rename_column", "column": ("note",), "to": "re mark"},
        ),
        (
            "ALTER total TYPE TIMESTAMP(3) WITH LOCAL TIME ZONE",
            {
                "change": "update_column_type",
                "column": ("total",),
                "type": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
            },
        ),
        (
            "ALTER total SET NOT NULL",
            {"change": "update_column_nullability", "column": ("total",), "nullable": False},
        ),
        (
            "ALTER total DROP NOT NULL",
            {"change": "update_column_nullability", "column": ("total",), "nullable": True},
        ),
        (
            "ALTER total SET DEFAULT '7'",
            {"change": "update_column_default", "column": ("total",), "default": "7"},
        ),
        (
            "ALTER total DROP DEFAULT",
            {"change": "update_column_default", "column": ("total",), "default": None},
        ),
        (
            "ALTER total COMMENT 'gross'",
            {"change": "update_column_comment", "column": ("total",), "description": "gross"},
        ),
        (
            "ALTER total DROP COMMENT",
            {"change": "update_column_comment", "column": ("total",), "description": None},
        ),
        (
            "ALTER total BEFORE id",
            {
                "change": "update_column_position",
                "column": "total",
                "position": {"place": "before", "neighbour": "id"},
            },
        ),
        ("SET 'a.b' = 'c=d'", {"change": "set_option", "key": "a.b", "value": "c=d"}),
        ("UNSET 'a.b'", {"change": "remove_option", "key": "a.b"}),
        ("COMMENT 'of the shop'", {"change": "update_comment", "comment": "of the shop"}),
        ("DROP COMMENT", {"change": "update_comment", "comment": None}),
    ],
)
def test_a_clause_is_a_change(clause: str, fields: dict[str, Any]) -> None:
    assert parse_clause(clause) == fields
    assert len(SchemaChanges.model_validate({"changes": [fields]}).changes) == 1


@pytest.mark.parametrize(
    "clause", ["", "ADD", "ADD note", "DROP", "RENAME a b", "ALTER a", "SET a = b", "SELECT 1"]
)
def test_a_text_that_is_no_clause_is_none(clause: str) -> None:
    assert parse_clause(clause) is None
