"""Schema changes from two declarations of a table, and the declaration that results."""

from typing import Any

import pytest

from braid.cli.apply.schema_changes import derive_changes
from braid.registry.alteration.redeclaration import declared_differences
from braid.schemas import TableSpec

TABLE: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "INT"},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "orders", "ordering": ["version"], "columns": ["total"]},
        {"name": "parcels", "columns": ["carrier"]},
    ],
    "options": {"num-sorted-run.compaction-trigger": "7"},
}


def table(**fields: Any) -> TableSpec:
    return TableSpec.model_validate(TABLE | fields)


def columns(*added: tuple[int, dict[str, Any]], without: str = "", **changed: Any) -> list[Any]:
    """The columns, some inserted at a place, one left out, some with other fields."""
    found = [dict(one) for one in TABLE["columns"] if one["name"] != without]
    for one in found:
        one.update(changed.get(one["name"], {}))
    for place, column in added:
        found.insert(place, column)
    return found


def groups(**added: list[str]) -> list[Any]:
    found = [dict(one) for one in TABLE["sequence_groups"]]
    for one in found:
        one["columns"] = [*one["columns"], *added.get(one["name"], [])]
    return found


CITY = {"name": "city", "type": "STRING", "description": "where"}


@pytest.mark.parametrize(
    ("after", "kinds"),
    [
        (table(), []),
        (
            table(columns=columns((4, CITY)), sequence_groups=groups(parcels=["city"])),
            ["add_column"],
        ),
        (
            table(columns=columns((1, CITY)), sequence_groups=groups(orders=["city"])),
            ["add_column"],
        ),
        (
            table(columns=columns((0, CITY)), sequence_groups=groups(orders=["city"])),
            ["add_column"],
        ),
        (
            table(
                columns=columns((4, CITY), (5, {"name": "n", "type": "INT"})),
                sequence_groups=[
                    *groups(),
                    {"name": "places", "ordering": ["n"], "columns": ["city"], "keep": ["city"]},
                ],
            ),
            ["add_column", "add_column", "add_sequence_group"],
        ),
        (table(columns=columns(total={"type": "BIGINT"})), ["update_column_type"]),
        (table(columns=columns(total={"type": "INT NOT NULL"})), ["update_column_nullability"]),
        (table(columns=columns(total={"description": "euros"})), ["update_column_comment"]),
        (table(columns=columns(total={"default": "0"})), ["update_column_default"]),
        (
            table(columns=columns(total={"aggregate": {"function": "sum"}})),
            ["update_column_aggregate"],
        ),
        (table(comment="orders"), ["update_comment"]),
        (table(row_ttl={"column": "version", "seconds": 60}), ["update_row_ttl"]),
        (table(options={"target-file-size": "64 mb"}), ["set_option", "remove_option"]),
        (
            table(
                columns=columns(without="carrier"),
                sequence_groups=[TABLE["sequence_groups"][0] | {"columns": ["total"]}],
            ),
            ["drop_column"],
        ),
        (table(staleness={"default_seconds": 5}), []),
    ],
)
def test_a_difference_that_changes_can_make_leaves_none(after: TableSpec, kinds: list[str]) -> None:
    derived = derive_changes(table(), after)

    assert [change.change for change in derived.changes] == kinds
    left = declared_differences(derived.table, after)
    # A group whose columns are all dropped stays: the service says so.
    assert left == [] or kinds == ["drop_column"]


@pytest.mark.parametrize(
    ("after", "field"),
    [
        (table(primary_key=["id", "version"]), "primary_key"),
        (table(buckets=8), "buckets"),
        (table(columns=[*columns()[:1], *columns()[:0:-1]]), "columns"),
        (table(columns=columns(total={"unordered": "allowed"})), "columns"),
        (
            table(sequence_groups=[{"name": "orders", "columns": ["total", "carrier"]}]),
            "sequence_groups",
        ),
        (
            table(columns=columns((4, CITY)), sequence_groups=groups(orders=["city"])[:1]),
            "sequence_groups",
        ),
    ],
)
def test_a_difference_that_no_change_makes_is_left(after: TableSpec, field: str) -> None:
    derived = derive_changes(table(), after)

    assert field in {problem.field for problem in declared_differences(derived.table, after)}


def test_dropped_columns_are_named() -> None:
    after = table(columns=columns(without="carrier"), sequence_groups=groups()[:1])

    assert derive_changes(table(), after).dropped == ("carrier",)
