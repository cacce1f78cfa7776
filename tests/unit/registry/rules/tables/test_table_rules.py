"""Invalid tables are refused, each with location and hint."""

from typing import Any

import pytest

from braid.registry.rules.tables.table_rules import check_table
from tests.unit.registry.shop import ORDERS, orders

Places = list[tuple[str | None, str | None]]


def places(**changes: Any) -> Places:
    """Pointer and value of everything that is wrong with the changed table."""
    return [(p.pointer, p.value) for p in check_table("shop", "orders", orders(**changes))]


def columns_with(*extra: dict[str, str]) -> list[dict[str, str]]:
    return [*ORDERS["columns"], *extra]


def groups_with(index: int, **changes: Any) -> list[dict[str, Any]]:
    groups = [dict(group) for group in ORDERS["sequence_groups"]]
    groups[index] |= changes
    return groups


def test_the_table_that_the_cases_vary_can_be_created() -> None:
    assert places() == []


def test_a_deduplicate_table_needs_no_groups() -> None:
    assert places(merge_engine="deduplicate", sequence_groups=[]) == []


def test_every_primitive_type_is_fine_in_a_column() -> None:
    types = ["BOOLEAN", "TINYINT", "smallint", "INTEGER", "FLOAT", "DOUBLE PRECISION", "CHAR(3)"]
    types += ["VARCHAR(9)", "BYTES", "BINARY(4)", "DATE", "TIME(3)", "TIMESTAMP(9)", "ARRAY<INT>"]
    types += ["TIMESTAMP(6) WITH LOCAL TIME ZONE", "NUMERIC(38, 18)", "MAP<STRING, INT>"]
    types += ["MULTISET<STRING>", "ROW<a INT, `b c` ARRAY<ROW<d TIMESTAMP(9)>>>"]
    extra = [{"name": f"c{index}", "type": text} for index, text in enumerate(types)]
    groups = groups_with(1, columns=["paid", "method", *(column["name"] for column in extra)])

    assert places(columns=columns_with(*extra), sequence_groups=groups) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"primary_key": ["id", "regio"]},
            [("/primary_key/1", "regio"), ("/columns/1/name", "region")],
            id="unknown-key-column",
        ),
        pytest.param(
            {"primary_key": ["id", "region", "id"]},
            [("/primary_key/2", "id")],
            id="key-column-twice",
        ),
        pytest.param(
            {"partition_keys": ["method"]},
            [("/partition_keys/0", "method")],
            id="partition-outside-of-the-key",
        ),
        pytest.param(
            {"partition_keys": ["id", "region"]},
            [("/partition_keys", "id, region")],
            id="partition-is-the-key",
        ),
        pytest.param(
            {"sequence_groups": groups_with(0, columns=["totl", "currency"])},
            [("/sequence_groups/0/columns/0", "totl"), ("/columns/2/name", "total")],
            id="unknown-protected-column",
        ),
        pytest.param(
            {"sequence_groups": groups_with(0, ordering=["version"])},
            [("/sequence_groups/0/ordering/0", "version"), ("/columns/4/name", "order_version")],
            id="unknown-ordering-column",
        ),
        pytest.param(
            {"sequence_groups": groups_with(0, columns=["total", "currency", "region"])},
            [("/sequence_groups/0/columns/2", "region")],
            id="key-column-in-a-group",
        ),
        pytest.param(
            {"sequence_groups": groups_with(1, columns=["paid", "method", "total"])},
            [("/sequence_groups/1/columns/2", "total")],
            id="column-in-two-groups",
        ),
        pytest.param(
            {"sequence_groups": groups_with(1, ordering=["order_version"])},
            [("/sequence_groups/1/ordering/0", "order_version")],
            id="ordering-of-two-groups",
        ),
        pytest.param(
            {"sequence_groups": groups_with(0, columns=["total", "currency", "order_version"])},
            [("/sequence_groups/0/columns/2", "order_version")],
            id="ordering-protected",
        ),
        pytest.param(
            {"sequence_groups": groups_with(2, name="sales")},
            [("/sequence_groups/2/name", "sales")],
            id="group-twice",
        ),
        pytest.param(
            {"sequence_groups": groups_with(2, columns=["carrier"])},
            [("/columns/8/name", "shipped")],
            id="unordered-column",
        ),
        pytest.param(
            {"columns": columns_with({"name": "TOTAL", "type": "INT"})},
            [("/columns/9/name", "TOTAL"), ("/columns/9/name", "TOTAL")],
            id="column-differs-in-case-only",
        ),
        pytest.param(
            {
                "columns": columns_with({"name": "sales__at", "type": "INT"}),
                "unordered": "allowed",
            },
            [("/columns/9/name", "sales__at")],
            id="column-named-like-a-generated-one",
        ),
        pytest.param(
            {"columns": columns_with({"name": "a b", "type": "INT"}), "unordered": "allowed"},
            [("/columns/9/name", "a b")],
            id="column-name-with-a-blank",
        ),
        pytest.param(
            {"columns": columns_with({"name": "rowkind", "type": "INT"}), "unordered": "allowed"},
            [("/columns/9/name", "rowkind")],
            id="system-column",
        ),
        pytest.param(
            {"columns": columns_with({"name": "x", "type": "MONEY"}), "unordered": "allowed"},
            [("/columns/9/type", "MONEY")],
            id="unknown-type",
        ),
        pytest.param(
            {
                "columns": columns_with({"name": "x", "type": "DECIMAL(50, 2)"}),
                "unordered": "allowed",
            },
            [("/columns/9/type", "DECIMAL(50, 2)")],
            id="precision-out-of-range",
        ),
        pytest.param(
            {
                "columns": columns_with({"name": "x", "type": "INT NOT NULL"}),
                "unordered": "allowed",
            },
            [("/columns/9/type", "INT NOT NULL")],
            id="not-null-outside-of-the-key",
        ),
        pytest.param(
            {"merge_engine": "deduplicate"},
            [("/sequence_groups", "`sales`, `payments`, `shipping`")],
            id="groups-of-a-deduplicate-table",
        ),
        pytest.param(
            {"staleness": {"groups": {"returns": 60}}},
            [("/staleness/groups/returns", "returns")],
            id="staleness-of-an-unknown-group",
        ),
        pytest.param(
            {"tracking": False, "staleness": {"default_seconds": 60}},
            [("/staleness", "tracking: false")],
            id="staleness-without-tracking",
        ),
        pytest.param(
            {"completeness": {"groups": ["sales", "returns"]}},
            [("/completeness/groups/1", "returns")],
            id="completeness-of-an-unknown-group",
        ),
        pytest.param(
            {"options": {"bucket": "8"}}, [("/options/bucket", "8")], id="option-that-is-a-field"
        ),
        pytest.param(
            {"options": {"write-only": "false"}},
            [("/options/write-only", "false")],
            id="option-that-is-fixed",
        ),
        pytest.param(
            {"options": {"fields.total.aggregate-function": "sum"}},
            [("/options/fields.total.aggregate-function", "sum")],
            id="option-of-a-column",
        ),
        pytest.param(
            {"options": {"sequence.field": "order_version"}},
            [("/options/sequence.field", "order_version")],
            id="order-of-whole-rows",
        ),
        pytest.param(
            {"options": {"record-level.expire-time": "1 d"}},
            [("/options/record-level.expire-time", "1 d")],
            id="rows-that-compaction-would-have-to-remove",
        ),
        pytest.param(
            {"options": {"ignor-delete": "true", "sequence.fields": "x", "team": "sales"}},
            [
                ("/options/ignor-delete", "true"),
                ("/options/sequence.fields", "x"),
                ("/options/team", "sales"),
            ],
            id="options-that-are-not-listed",
        ),
        pytest.param(
            {"options": {"target-file-size": "many"}},
            [("/options/target-file-size", "many")],
            id="option-with-an-unreadable-value",
        ),
        pytest.param(
            {"options": {"file.format": "csv"}},
            [("/options/file.format", "csv")],
            id="option-that-is-not-supported",
        ),
    ],
)
def test_an_invalid_or_harmful_declaration_is_refused_with_its_location(
    changes: dict[str, Any], expected: Places
) -> None:
    assert places(**changes) == expected


def test_a_key_is_of_a_type_whose_equality_is_that_of_its_bytes() -> None:
    columns = [{"name": "id", "type": "DOUBLE"}, *ORDERS["columns"][1:]]

    assert places(columns=columns) == [("/primary_key/0", "id")]


def test_a_partition_is_not_named_by_bytes() -> None:
    columns = [*ORDERS["columns"]]
    columns[1] = {"name": "region", "type": "BYTES"}

    assert places(columns=columns, partition_keys=["region"]) == [("/partition_keys/0", "region")]


def test_a_compression_is_one_that_is_known() -> None:
    assert places(options={"file.compression": "zip"}) == [("/options/file.compression", "zip")]
    assert places(options={"file.compression": "lz4"}) == []


def test_all_problems_are_reported_at_once_with_hints() -> None:
    problems = check_table(
        "sys",
        "orders/7",
        orders(
            primary_key=["id", "nope"],
            sequence_groups=groups_with(2, columns=["carrier"]),
            completeness={"groups": ["nope"]},
            options={"merge-engine": "aggregation"},
        ),
    )

    assert [problem.field for problem in problems] == [
        "database",
        "table",
        "primary_key[1]",
        "columns[1].name",
        "columns[8].name",
        "completeness.groups[0]",
        "options.merge-engine",
    ]
    assert all(problem.hint for problem in problems)


def test_the_risk_of_unordered_columns_is_named_and_can_be_taken() -> None:
    groups = groups_with(2, columns=["carrier"])
    (problem,) = check_table("shop", "orders", orders(sequence_groups=groups))

    assert "the older one may win for good" in problem.message
    assert places(sequence_groups=groups, unordered="allowed") == []


def test_the_risk_can_be_taken_for_one_column_alone() -> None:
    def with_risk(index: int) -> list[dict[str, Any]]:
        return [
            column | ({"unordered": "allowed"} if place == index else {})
            for place, column in enumerate(ORDERS["columns"])
        ]

    carrier, paid = groups_with(2, columns=["carrier"]), groups_with(1, columns=["paid"])

    assert places(sequence_groups=carrier, columns=with_risk(8)) == []
    assert places(sequence_groups=[carrier[0], paid[1], carrier[2]], columns=with_risk(8)) == [
        ("/columns/6/name", "method")
    ]
    # Key and group order these columns, so the word would have no effect.
    assert places(columns=with_risk(0)) == [("/columns/0/unordered", "allowed")]
    assert places(columns=with_risk(7)) == [("/columns/7/unordered", "allowed")]


def test_contradicting_options_are_reported_with_their_location() -> None:
    options = {"snapshot.num-retained.max": "3", "num-sorted-run.stop-trigger": "1"}

    problems = check_table("shop", "orders", orders(options=options))

    assert [(problem.pointer, problem.value) for problem in problems] == [
        ("/options/snapshot.num-retained.max", "3"),
        ("/options/num-sorted-run.stop-trigger", "1"),
    ]
    assert all(problem.hint for problem in problems)


@pytest.mark.parametrize("buckets", [0, -1, 100_001])
def test_a_wrong_number_of_buckets_hides_nothing_else(buckets: int) -> None:
    found = check_table("shop", "orders", orders(buckets=buckets, primary_key=["nope"]))

    assert {"/buckets", "/primary_key/0"} <= {problem.pointer for problem in found}
