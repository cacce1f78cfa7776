"""Sample records become what ingest would make of them, and nothing is written."""

import base64
import json
from typing import Any

import pytest

from braid.records.trial import try_records
from braid.schemas import SampleRecord
from tests.unit.records.given_streams import given_plan, given_spec, given_table

COLUMNS = {"id": "BIGINT", "price": "DECIMAL(9, 2)", "version": "INT"}


def tried(
    *samples: Any, table: dict[str, Any] | None = None, **stream: Any
) -> list[dict[str, Any]]:
    """Return what becomes of values, or of samples, without what is not set."""
    spec = given_spec(COLUMNS, **(table or {}))
    given = [
        SampleRecord.model_validate(one)
        if one is None or "value" in one or "value_base64" in one or "key" in one
        else SampleRecord(value=json.dumps(one))
        for one in samples
    ]
    found = try_records(given_plan(spec, **stream), given_table(spec).schema, given)
    return [one.model_dump(mode="json", exclude_defaults=True) for one in found]


def test_conditions_over_parts_are_tried_with_those_of_the_samples() -> None:
    value = json.dumps({"id": 1, "version": 1})
    headers = {"type": "order"}

    found = tried(
        {"value": value, "headers": headers},
        {"value": value},
        {"key": "5"},
        where="header(type) = 'order'",
    )

    assert [one["outcome"] for one in found] == ["row", "ignored", "ignored"]


def test_rows_dead_letters_and_deletes_in_the_order_of_the_samples() -> None:
    assert tried(
        {"id": 1, "price": 1.5, "version": 1, "op": "c"},
        {"id": 2, "price": "x", "version": 1, "op": "c"},
        {"id": 3, "price": "x", "version": 2, "op": "d"},
        {"id": 4, "op": "t"},
        {"key": "5"},
        {"value_base64": base64.b64encode(b"\xff").decode()},
        table={"deletes": "clear_columns"},
        where="op != 't'",
        delete_when="op = 'd'",
        on_tombstone="ignore",
    ) == [
        {"outcome": "row", "row": {"id": 1, "price": "1.50", "version": 1}},
        {
            "outcome": "dead_letter",
            "reason": "wrong_type",
            "message": 'field price: found "x", expected DECIMAL(9, 2) for column price',
        },
        {"outcome": "delete", "row": {"id": 3, "version": 2}},
        {"outcome": "ignored"},
        {"outcome": "ignored"},
        {
            "outcome": "dead_letter",
            "reason": "malformed",
            "message": "not UTF-8: invalid start byte at byte 0",
        },
    ]


def test_keys_are_read() -> None:
    columns = [{"column": "id", "source": "key"}, {"column": "price"}, {"column": "version"}]

    assert tried({"key": "7", "value": '{"version": 1}'}, {"value": "{}"}, columns=columns) == [
        {"outcome": "row", "row": {"id": 7, "price": None, "version": 1}},
        {
            "outcome": "dead_letter",
            "reason": "missing_key",
            "message": "key column id is missing or null",
        },
    ]


def test_changes_of_the_table_that_new_fields_need() -> None:
    found = tried(
        {"id": 1, "version": 1, "new": 1, "price": None},
        {"id": 1, "version": 2**40, "new": None},
        {"id": 1, "version": "x", "new": 1},
        {"id": 1, "version": 1, "Price": 1},
        on_new_field="evolve",
    )

    assert found[0] == {"outcome": "schema_change", "changes": ["new"]}
    assert found[1] == {"outcome": "schema_change", "changes": ["version"]}
    assert (found[2]["outcome"], found[2]["reason"]) == ("dead_letter", "wrong_type")
    assert (found[3]["outcome"], found[3]["reason"]) == ("dead_letter", "new_field")


def test_a_value_is_given_once() -> None:
    with pytest.raises(ValueError, match="and not both"):
        SampleRecord(value="a", value_base64="YQ==")


def test_what_is_known_of_a_record_besides_its_value() -> None:
    spec = given_spec(
        {
            "id": "BIGINT",
            "at": "TIMESTAMP(3)",
            "sent": "TIMESTAMP(3)",
            "part": "INT",
            "place": "BIGINT",
        },
        ordering=None,
    )
    columns = [
        {"column": "id"},
        {"column": "at", "source": "timestamp"},
        {"column": "sent", "source": "header", "time_format": "epoch_ms"},
        {"column": "part", "source": "partition"},
        {"column": "place", "source": "offset"},
    ]
    record = {
        "value": '{"id": 1}',
        "headers": {"sent": "1767323045678"},
        "timestamp_ms": 1_767_323_045_000,
        "partition": 3,
        "offset": 2**40,
    }
    samples = [{"value": '{"id": 2}'}, record, {**record, "headers": {"sent": "now"}}]

    found = try_records(
        given_plan(spec, columns=columns),
        given_table(spec).schema,
        [SampleRecord.model_validate(one) for one in samples],
    )

    assert [one.row for one in found] == [
        {"id": 2, "at": "1970-01-01T00:00:00.000", "sent": None, "part": 0, "place": 0},
        {
            "id": 1,
            "at": "2026-01-02T03:04:05.000",
            "sent": "2026-01-02T03:04:05.678",
            "part": 3,
            "place": 2**40,
        },
        None,
    ]
    assert found[2].reason == "malformed_header"


def test_names_and_values_that_utf8_does_not_have() -> None:
    half = SampleRecord(value='{"id": 1, "version": 1, "\\ud800": 1, "price": "\\ud800"}')
    name = SampleRecord(value='{"id": 1, "version": 1, "\\ud800": 1}')
    spec = given_spec(COLUMNS)
    for mode in ("ignore", "reject", "evolve"):
        plan = given_plan(spec, on_new_field=mode)
        for one in try_records(plan, given_table(spec).schema, [half, name]):
            assert one.model_dump_json()


def test_a_message_that_is_too_deep_for_its_fields_is_a_dead_letter_as_in_the_stream() -> None:
    deep = "[" * 100_000 + "]" * 100_000

    (found,) = tried(
        {"value": f'{{"id": 1, "price": 1, "version": 1, "x": {deep}}}'}, on_new_field="evolve"
    )

    assert (found["outcome"], found["reason"]) == ("dead_letter", "malformed")


def test_computed_columns_show_their_values_and_failures() -> None:
    assert tried(
        {"id": 1, "n": 3},
        {"id": 2, "n": 0},
        columns=[
            {"column": "id"},
            {"column": "price", "constant": 5},
            {"column": "version", "expression": "6 // n"},
        ],
        fields={"n": "INT"},
    ) == [
        {"outcome": "row", "row": {"id": 1, "price": "5.00", "version": 2}},
        {
            "outcome": "dead_letter",
            "reason": "expression",
            "message": "the expression `6 // n` for column version fails: Division by zero",
        },
    ]


CANAL: dict[str, Any] = {
    "table": {"deletes": "clear_columns"},
    "format": "canal",
    "on_delete": "clear_columns",
}


def canal(*data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "INSERT", "isDdl": False, "data": list(data), **more}


def test_a_record_that_yields_several_rows_shows_all_that_are_written() -> None:
    assert tried(
        canal(
            {"id": "1", "version": "1"}, {"id": "2", "version": "1"}, {"id": "1", "version": "2"}
        ),
        canal({"id": "3", "version": "2"}, type="UPDATE", old=[{"id": "2"}]),
        canal({"id": "4", "version": "1"}),
        **CANAL,
    ) == [
        {
            "outcome": "row",
            "row": {"id": 1, "price": None, "version": 2},
            "rows": [
                {"outcome": "row", "row": {"id": 2, "price": None, "version": 1}},
                {"outcome": "row", "row": {"id": 1, "price": None, "version": 2}},
            ],
        },
        {
            "outcome": "row",
            "row": {"id": 3, "price": None, "version": 2},
            "rows": [
                {"outcome": "delete", "row": {"id": 2, "version": 2}},
                {"outcome": "row", "row": {"id": 3, "price": None, "version": 2}},
            ],
        },
        {"outcome": "row", "row": {"id": 4, "price": None, "version": 1}},
    ]


def test_of_very_many_rows_the_first_are_shown() -> None:
    (found,) = tried(canal(*({"id": str(number), "version": "1"} for number in range(25))), **CANAL)

    assert [one["row"]["id"] for one in found["rows"]] == list(range(20))
    assert found["row"]["id"] == 24


def test_one_row_decides_what_becomes_of_its_record() -> None:
    fine, wrong = {"id": "1", "version": "1"}, {"id": "2", "version": "one"}

    found = tried(canal(wrong, fine), canal(fine, wrong), canal(fine), **CANAL)

    assert [one["outcome"] for one in found] == ["dead_letter", "dead_letter", "row"]


def test_a_new_field_in_one_row_decides_what_becomes_of_its_record() -> None:
    fine, new = {"id": "1", "version": "1"}, {"id": "2", "version": "1", "x": "new"}
    wrong = {"id": "3", "version": "one"}

    found = tried(
        canal(new, fine),
        canal(fine, new),
        canal(wrong, fine),
        canal(new, wrong),
        canal(wrong, new),
        **CANAL,
        on_new_field="evolve",
    )

    assert [(one["outcome"], one.get("reason")) for one in found] == [
        ("schema_change", None),
        ("schema_change", None),
        *[("dead_letter", "wrong_type")] * 3,
    ]
    assert found[0]["changes"] == ["x"]
