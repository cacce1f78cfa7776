"""A test passes if the table has what it expects, and names every difference otherwise."""

import json
from typing import Any

import pytest

from braid.lake import ManualClock
from braid.schemas import CaseOutcome, CaseResult, TableDocument, TableSpec, TableTest
from braid.service.control.table_tests.given_records import FIRST_MS
from braid.service.control.table_tests.table_run import run_tests
from tests.unit.registry.shop import orders
from tests.unit.service.control.table_tests.shop_tests import KEY, case, document, payment, sale


def run(test: TableTest, table: TableDocument | None = None) -> CaseResult:
    (result,) = run_tests(table or document(), [test], clock=ManualClock()).cases
    return result


def assert_passes(test: TableTest, table: TableDocument | None = None) -> None:
    assert run(test, table) == CaseResult(name="the test", outcome=CaseOutcome.PASSED)


def fields(result: CaseResult) -> list[tuple[str, Any, Any]]:
    assert result.outcome is CaseOutcome.FAILED
    return [(one.field, one.expected, one.found) for one in result.differences]


def row(**values: Any) -> dict[str, Any]:
    return {"key": KEY, "row": values}


def test_a_late_record_loses_and_streams_do_not_disturb_each_other() -> None:
    given = sale(2, "12.50"), payment("5"), sale(1, "99.00")

    assert_passes(
        case(
            *given,
            rows=[
                {
                    "key": {"id": "7", "region": "eu"},
                    "row": {"total": "12.50", "order_version": 2, "paid": "5.00", "carrier": None},
                    "groups": {"sales": "present", "payments": "present", "shipping": "absent"},
                    "complete": False,
                },
                {"key": {"id": 8, "region": "eu"}, "exists": False},
            ],
            row_count=1,
        )
    )


def test_the_reasons_of_all_versions_are_expected_in_the_order_of_the_records() -> None:
    given = sale(2, "12.50"), sale(1, "99.00"), payment("5"), sale(3, "13.00")
    expected = {
        "total": ["newer-sequence", "late", "null-skipped", "newer-sequence"],
        "paid": ["null-skipped", "null-skipped", "only-version", "null-skipped"],
    }

    assert_passes(case(*given, rows=[{"key": KEY, "reasons": expected}]))
    result = run(case(*given, rows=[{"key": KEY, "reasons": {"total": ["late"]}}]))

    assert fields(result) == [("expect.rows[0].reasons.total", ["late"], expected["total"])]
    assert result.differences[0].message == (
        'the row {"id":7,"region":"eu"}, column `total`: expected the reasons ["late"], '
        'found ["newer-sequence","late","null-skipped","newer-sequence"]'
    )


def test_a_row_without_versions_has_no_reasons() -> None:
    missing = {"key": KEY, "exists": False, "reasons": {"total": []}}

    assert_passes(case(rows=[missing]))


def test_every_difference_is_named() -> None:
    test = case(
        sale(2, "12.50"),
        rows=[
            {
                "key": KEY,
                "row": {"total": "12.5", "order_version": "2", "paid": None},
                "groups": {"sales": "stale", "payments": "absent"},
                "complete": True,
            },
            {"key": {"id": 8, "region": "eu"}},
            {"key": KEY, "exists": False},
        ],
        row_count=2,
        dead_letters=[{"stream": "sales", "reason": "malformed"}],
    )

    result = run(test)

    assert fields(result) == [
        ("expect.rows[0].row.total", "12.5", "12.50"),
        ("expect.rows[0].row.order_version", "2", 2),
        ("expect.rows[0].groups.sales", "stale", "present"),
        ("expect.rows[0].complete", True, False),
        ("expect.rows[1].exists", True, False),
        ("expect.rows[2].exists", False, True),
        ("expect.row_count", 2, 1),
        ("expect.dead_letters[0]", "sales: malformed", None),
    ]
    first, *_ = result.differences
    assert (first.key, first.column) == (KEY, "total")
    assert first.message == (
        'the row {"id":7,"region":"eu"}, column `total`: expected "12.5", found "12.50"'
    )


def test_the_order_of_arrival_decides_where_no_column_does() -> None:
    assert_passes(case(payment(1), payment(2), rows=[row(paid="2.00")]))
    assert_passes(case(payment(1, offset=9), payment(2, offset=8), rows=[row(paid="1.00")]))
    same_offset = payment(1, offset=3, partition=1), payment(2, offset=3)
    assert_passes(case(*same_offset, rows=[row(paid="1.00")]))


def test_dead_letters_are_compared_in_the_order_of_their_records() -> None:
    given = (
        sale(1, "x"),
        {"stream": "payments", "value": "{"},
        sale(2, "1"),
        {"stream": "sales", "key": "7"},
        sale(None, "1"),
    )
    reasons = ["wrong_type", "malformed", "tombstone", "null_ordering"]
    letters = [
        {"stream": "payments" if reason == "malformed" else "sales", "reason": reason}
        for reason in reasons
    ]

    assert_passes(case(*given, rows=[row(total="1.00")], dead_letters=letters))
    found = run(case(*given, dead_letters=letters[:3]))
    assert fields(found) == [("expect.dead_letters[3]", None, "sales: null_ordering")]
    assert "found sales: null_ordering (" in found.differences[0].message


def test_deletes_clear_what_their_stream_has_written() -> None:
    table = document(
        orders(deletes="clear_columns"),
        sales={"delete_when": "op = 'd'"},
        payments={
            "columns": [{"column": name, "source": "key", "path": name} for name in KEY]
            + [{"column": "paid"}, {"column": "method"}],
            "on_tombstone": "clear_columns",
        },
    )
    key = json.dumps(KEY)
    paid = {"stream": "payments", "key": KEY, "value": {"paid": "5"}}

    assert_passes(
        case(
            sale(1, "2"),
            paid,
            {"stream": "payments", "key": key},
            sale(0, "3"),
            rows=[
                row(total="2.00", paid=None)
                | {"groups": {"sales": "present", "payments": "deleted"}}
            ],
        ),
        table,
    )
    deleted = sale(2, None)
    deleted["value"]["op"] = "d"
    cleared = row(total=None, paid="5.00") | {"groups": {"sales": "deleted"}}
    assert_passes(case(sale(1, "2"), paid, deleted, rows=[cleared]), table)


def test_parts_become_stale_and_rows_expire_by_the_time_of_the_test() -> None:
    table = document(
        orders(
            staleness={"groups": {"sales": 60}},
            row_ttl={"column": "sales__at", "seconds": 120},
        )
    )
    given = sale(1, "1", timestamp_ms=1_000), payment(1, timestamp_ms=1_000)

    for read_at_ms, expected in (
        (61_000, {"groups": {"sales": "present", "payments": "present"}}),
        (61_001, {"groups": {"sales": "stale", "payments": "present"}}),
        (200_000, {"exists": False}),
    ):
        test = case(*given, rows=[{"key": KEY} | expected], read_at_ms=read_at_ms)
        assert_passes(test, table)
    stale = case(
        *given, payment(2, timestamp_ms=90_000), rows=[row() | {"groups": {"sales": "stale"}}]
    )
    assert_passes(stale, table)


def test_times_of_records_are_columns() -> None:
    test = case(sale(1, "1"), sale(2, "2"), rows=[row(sales__at="2026-01-01T00:00:01.000Z")])

    assert FIRST_MS % 86_400_000 == 0
    assert_passes(test)


SUMS = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "INT"},
            {"name": "v", "type": "INT", "aggregate": {"function": "sum", "on_overflow": "fail"}},
        ],
        "primary_key": ["id"],
        "merge_engine": "aggregation",
        "deletes": "ignore",
    }
)


def test_a_record_that_the_table_alone_refuses_is_a_dead_letter() -> None:
    given = [{"stream": "s", "value": {"id": 1, "v": value}} for value in (2**31 - 1, 1, -1)]

    assert_passes(
        case(
            *given,
            rows=[{"key": {"id": 1}, "row": {"v": 2**31 - 2}}],
            dead_letters=[{"stream": "s", "reason": "refused_row"}],
        ),
        document(SUMS, s={}),
    )


ENGINES: list[tuple[dict[str, Any], list[int], int]] = [
    ({"merge_engine": "deduplicate"}, [1, 3, 2], 2),
    ({"merge_engine": "first-row", "deletes": "ignore"}, [1, 3, 2], 1),
    (
        {"merge_engine": "aggregation", "default_aggregate": "max", "deletes": "ignore"},
        [1, 3, 2],
        3,
    ),
    (
        {
            "merge_engine": "deduplicate",
            "options": {"deletion-vectors.enabled": "true"},
        },
        [1, 3, 2],
        2,
    ),
]


@pytest.mark.parametrize(("table", "values", "merged"), ENGINES)
def test_rows_are_merged_by_the_engine_of_the_table(
    table: dict[str, Any], values: list[int], merged: int
) -> None:
    spec = TableSpec.model_validate(
        {
            "columns": [{"name": "id", "type": "INT"}, {"name": "v", "type": "INT"}],
            "primary_key": ["id"],
            **table,
        }
    )
    given = [{"stream": "s", "value": {"id": 1, "v": value}} for value in values]

    assert_passes(
        case(*given, rows=[{"key": {"id": 1}, "row": {"v": merged}}], row_count=1),
        document(spec, s={}),
    )


def test_undeclared_fields_do_not_change_the_table_of_a_test() -> None:
    given = sale(1, "1")
    given["value"]["new"] = 1

    assert_passes(case(given, rows=[row(total="1.00")]), document(sales={"on_new_field": "evolve"}))
    assert_passes(
        case(
            given, rows=[], row_count=0, dead_letters=[{"stream": "sales", "reason": "new_field"}]
        ),
        document(sales={"on_new_field": "reject"}),
    )


def test_a_captured_change_may_move_a_row() -> None:
    spec = TableSpec.model_validate(
        {
            "columns": [{"name": "id", "type": "INT"}, {"name": "v", "type": "STRING"}],
            "primary_key": ["id"],
            "deletes": "clear_columns",
            "sequence_groups": [{"name": "s", "columns": ["v"]}],
        }
    )
    table = document(
        spec, s={"format": {"type": "maxwell"}, "columns": [{"column": "id"}, {"column": "v"}]}
    )
    base = {"database": "d", "table": "t", "ts": 1}
    inserted = {**base, "type": "insert", "data": {"id": 1, "v": "a"}}
    moved = {**base, "type": "update", "data": {"id": 2, "v": "a"}, "old": {"id": 1}}

    assert_passes(
        case(
            {"stream": "s", "value": inserted},
            {"stream": "s", "value": moved},
            rows=[
                {"key": {"id": 1}, "groups": {"s": "deleted"}},
                {"key": {"id": 2}, "row": {"v": "a"}},
            ],
        ),
        table,
    )


def test_records_that_cannot_be_merged_fail_the_test_with_the_reason() -> None:
    large = {"stream": "s", "value": {"id": 1, "v": 2**31 - 1}}
    other = {"stream": "t", "value": {"id": 1, "v": 1}}

    result = run(case(large, other, rows=[{"key": {"id": 1}}]), document(SUMS, s={}, t={}))

    assert result.outcome is CaseOutcome.FAILED
    assert "shop.orders" in (result.message or "")
    assert "v" in (result.message or "")


def test_a_key_that_is_none_of_the_table_is_a_difference() -> None:
    result = run(case(rows=[{"key": {"id": "seven", "region": "eu"}}]))

    assert fields(result) == [("expect.rows[0].key", None, None)]
    assert result.differences[0].message == "the key: id: expected BIGINT: not a whole number"


def test_a_test_of_streams_that_are_not_registered_is_skipped() -> None:
    result = run(case(sale(1, "1"), payment(1)), document(sales={}))

    assert result.outcome is CaseOutcome.SKIPPED
    assert result.message == "the table has no stream payments"


def test_a_stream_of_a_schema_registry_cannot_be_tested() -> None:
    table = document(sales={"format": {"type": "json", "schema_registry": "shop"}})

    result = run(case(sale(1, "1")), table)

    assert result.outcome is CaseOutcome.FAILED
    assert "schemas by id" in (result.message or "")
