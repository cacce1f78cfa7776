"""Records are left out, refused or deletes by what the stream declares, whatever their other fields hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.records.record_columns import HEADERS, OFFSET
from braid.records.record_kinds import RecordKinds, SortedRecords
from tests.unit.records.given_streams import given_plan, given_records, given_spec

SPEC = given_spec(
    {"id": "BIGINT", "a": "STRING", "version": "INT"}, ordering=None, deletes="clear_columns"
)
KEYED = [{"column": "id", "source": "key"}, {"column": "a"}, {"column": "version"}]
WHERE = "type = 'order' AND n >= 2"
ORDER = {"type": "order", "n": 2}


def sort(messages: Sequence[Any], **stream: Any) -> SortedRecords:
    plan = given_plan(SPEC, columns=KEYED, **stream)
    return RecordKinds(plan).sort(given_records(messages))


def sort_parts(
    messages: Sequence[Any], headers: Sequence[Any], keys: Sequence[bytes | None], **stream: Any
) -> SortedRecords:
    """Sort records that have a header `type` each, None for no header, and a key."""
    batch = given_records(messages, keys=keys)
    field = batch.schema.field(HEADERS)
    values = [None if one is None else [{"key": "type", "value": one}] for one in headers]
    index = batch.schema.get_field_index(HEADERS)
    batch = batch.set_column(index, field, pa.array(values, field.type))
    return RecordKinds(given_plan(SPEC, **{"columns": KEYED, **stream})).sort(batch)


def kinds(messages: Sequence[Any], **stream: Any) -> dict[int, str]:
    """Return by offset the records that are no plain records."""
    found = sort(messages, **stream)
    offsets = found.records.column(OFFSET).to_pylist()
    assert found.left_out == len(messages) - len(offsets)
    told = dict.fromkeys(sorted({*range(len(messages))} - {*offsets}), "left out")
    told |= {offsets[row]: "delete" for row in np.flatnonzero(found.is_delete)}
    return told | {offsets[row]: found.faults[row].reason.value for row in found.faults.rows}


@pytest.mark.parametrize(
    ("effect", "kind"),
    [
        ("dead_letter", "tombstone"),
        ("ignore", "left out"),
        ("clear_columns", "delete"),
    ],
)
def test_a_record_without_a_value_is_what_the_stream_declares(effect: str, kind: str) -> None:
    assert kinds([b"{}", None, b""], on_tombstone=effect) == {1: kind}


@pytest.mark.parametrize(
    ("effect", "kind"),
    [("dead_letter", "delete"), ("ignore", "left out"), ("clear_columns", "delete")],
)
def test_a_record_that_fulfils_the_condition_is_a_delete(effect: str, kind: str) -> None:
    messages = [{"op": "d"}, {"op": "u"}, {"op": None}, {}, None]

    found = kinds(messages, delete_when="op = 'd'", on_delete=effect)

    assert found == {0: kind, 4: "tombstone"}


def test_records_for_which_the_condition_does_not_hold_are_left_out() -> None:
    messages = [ORDER, {**ORDER, "n": 1.5}, {"type": "bill", "n": 2}, {"n": 2}, {**ORDER, "n": 3}]

    assert kinds(messages, where=WHERE) == dict.fromkeys((1, 2, 3), "left out")


def test_a_record_of_another_stream_is_no_delete_and_has_no_tombstones() -> None:
    messages = [{**ORDER, "op": "d"}, {"type": "bill", "op": "d"}, None]
    given = {"where": WHERE, "delete_when": "op = 'd'", "on_tombstone": "clear_columns"}

    assert kinds(messages, **given) == {0: "delete", 1: "left out", 2: "delete"}


def test_a_field_that_cannot_be_compared_refuses_its_record() -> None:
    messages = [ORDER, {**ORDER, "n": "many"}, b"{", {**ORDER, "n": 1e30}, {**ORDER, "x": "y" * 99}]
    found = sort([*messages, {"n": 1}], where=WHERE, max_message_bytes=90)

    reasons = {row: found.faults[row].reason.value for row in found.faults.rows}
    assert reasons == {1: "wrong_type", 2: "malformed", 3: "out_of_range", 4: "too_large"}
    assert found.faults[1].message == (
        'field n: found "many", expected DECIMAL(38, 18) for a condition of the stream'
    )
    assert found.left_out == 1
    assert found.values.is_null().to_pylist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ({"where": WHERE}, {"type": "bill", "n": "many"}),
        ({"where": WHERE}, {"n": 1e30}),
        ({"where": "n >= 2 AND payload.m = 1"}, {"n": 1, "payload": "none"}),
        ({"where": "type = 'order'", "delete_when": "n = 5"}, {"type": "bill", "n": "many"}),
        ({"where": "type = 'order'", "delete_when": "meta.op = 'd'"}, {"type": "x", "meta": "y"}),
    ],
)
def test_a_record_of_another_stream_is_left_out_whatever_else_cannot_be_compared(
    stream: dict[str, str], message: object
) -> None:
    assert kinds([message, b"{", message], **stream) == {
        0: "left out",
        1: "malformed",
        2: "left out",
    }


def test_rows_of_faults_are_those_of_the_records_that_are_left() -> None:
    found = sort([{"n": 1}, b"{", {"n": 1}, ORDER, b"["], where=WHERE)

    assert found.records.column(OFFSET).to_pylist() == [1, 3, 4]
    assert found.faults.rows == [0, 2]


def test_fields_of_conditions_that_some_record_has_are_reported() -> None:
    given = {"where": "type IS NOT NULL", "delete_when": "op = 'd' AND opp = 1"}
    messages = [{"opp": None, "op": "u"}, {"type": "a"}, None]

    assert sort(messages, **given).seen_fields == {"type", "op"}
    assert sort([{"op": "u"}], **given).seen_fields == {"op"}
    assert sort([], **given).seen_fields == frozenset()


def test_a_stream_that_declares_nothing_has_its_records_as_they_are() -> None:
    records = given_records([b"{}", b"{"])

    found = RecordKinds(given_plan(SPEC)).sort(records)

    assert found.records is records
    assert (found.left_out, len(found.faults)) == (0, 0)
    assert not found.is_delete.any()


def test_a_condition_over_parts_leaves_out_tombstones_and_unreadable_values_of_others() -> None:
    messages = [ORDER, None, b"{", b"x" * 99, None, ORDER]
    headers = [b"order", b"bill", b"bill", b"bill", b"order", None]
    found = sort_parts(
        messages,
        headers,
        [b"1"] * 6,
        where="header(type) = 'order'",
        on_tombstone="clear_columns",
        max_message_bytes=90,
    )

    assert found.records.column(OFFSET).to_pylist() == [0, 4]
    assert (found.left_out, len(found.faults)) == (4, 0)
    assert found.is_delete.tolist() == [False, True]
    assert found.seen_fields == {"header(type)"}


def test_both_kinds_of_conditions_have_to_hold() -> None:
    messages = [ORDER, {**ORDER, "n": 1}, ORDER, {**ORDER, "op": "d"}, ORDER]
    keys = [b'{"id": 7}', b'{"id": 7}', b'{"id": 8}', b'{"id": 7}', b"{"]
    found = sort_parts(
        messages,
        [b"a"] * 5,
        keys,
        where="n >= 2 AND key(id) = 7 AND topic() = 'topic' AND timestamp() > '2026-01-02'",
        delete_when="op = 'd' AND header(type) = 'a'",
    )

    assert found.records.column(OFFSET).to_pylist() == [0, 3, 4]
    assert found.is_delete.tolist() == [False, True, False]
    (row,) = found.faults.rows
    assert (row, found.faults[row].reason.value) == (2, "malformed_key")
    assert found.faults[row].message.startswith(
        "the record's Kafka key does not hold a condition of the stream as declared: found `{`"
    )


def test_a_key_is_compared_as_a_whole_beside_its_fields() -> None:
    keys = [b'{"id": 1}', b'{"id": 2}', None]
    where = """key() != '{"id": 2}' AND key(id) IN (1, 2)"""

    found = sort_parts([ORDER] * 3, [None] * 3, keys, where=where, columns=[])

    assert found.records.column(OFFSET).to_pylist() == [0]


@pytest.mark.parametrize(
    ("where", "offsets"),
    [
        ("offset() >= 2", [2]),
        ("partition() = 1", []),
        ("timestamp() = 1767323045678", [0, 1, 2]),
        ("timestamp() < TIMESTAMP '2026-01-02T03:04:05.678Z'", []),
        ("header(type) IS NULL", [1]),
        ("header(type) >= 2", [0, 2]),
    ],
)
def test_every_part_can_be_compared(where: str, offsets: list[int]) -> None:
    found = sort_parts([ORDER] * 3, [b"2.5", None, b"two"], [b"1"] * 3, where=where)

    assert found.records.column(OFFSET).to_pylist() == offsets
    is_number = where == "header(type) >= 2"
    reasons = [found.faults[row].reason.value for row in found.faults.rows]
    assert reasons == (["malformed_header"] if is_number else [])
