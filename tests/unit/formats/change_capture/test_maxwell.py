"""Maxwell's messages: rows, deletes and changes of the key."""

from typing import Any

import pytest

from tests.unit.formats.change_capture.given_changes import faults_of, read, rows_of


def message(kind: str, data: Any, **others: Any) -> dict[str, Any]:
    where = {"database": "shop", "table": "orders", "position": "bin.000001:10", "xid": 5}
    return where | {"type": kind, "data": data, "commit": True} | others


def test_messages_are_upserts_and_deletes_of_their_rows() -> None:
    messages = [
        message("bootstrap-start", {}),
        message("bootstrap-insert", {"id": 1, "name": "a"}),
        message("insert", {"id": 2, "name": "b"}),
        message("update", {"id": 2, "name": "c"}, old={"name": "b"}),
        message("delete", {"id": 1, "name": "a"}),
        message("bootstrap-complete", {}),
    ]

    found = read("maxwell", messages)

    assert found.left_out == 2
    assert rows_of(found, "id", "name") == [
        ("+", 1, "a"),
        ("+", 2, "b"),
        ("+", 2, "c"),
        ("-", 1, None),
    ]
    read_at, *changed = found.columns["pos"].to_pylist()
    assert all(read_at < one for one in changed)


def test_a_change_of_the_key_is_a_delete_and_an_upsert_of_one_record() -> None:
    messages = [
        message("update", {"id": 2, "name": "id"}, old={"name": "a"}),
        message("update", {"id": 3, "name": "b"}, old={"id": 2}),
        message("update", {"id": 4, "name": "c"}, old=None),
    ]

    found = read("maxwell", messages)

    assert rows_of(found, "id", "name") == [
        ("+", 2, "id"),
        ("-", 2, None),
        ("+", 3, "b"),
        ("+", 4, "c"),
    ]
    assert found.record_of is not None
    assert found.record_of.tolist() == [0, 1, 1, 2]
    assert len(set(found.columns["pos"].to_pylist())) == 1


def test_a_record_is_refused_as_a_whole() -> None:
    found = read("maxwell", [message("update", {"id": 3, "total": "?"}, old={"id": 2})])

    assert [text.partition(":")[0] for text in faults_of(found).values()] == ["wrong_type"] * 2


def test_ignored_deletes_leave_the_upsert_of_a_changed_key() -> None:
    messages = [
        message("update", {"id": 3}, old={"id": 2}),
        message("delete", {"id": 3}),
    ]

    found = read("maxwell", messages, on_delete="ignore")

    assert found.left_out == 1
    assert rows_of(found, "id") == [("+", 3)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (message("table-drop", None), "malformed: found `table-drop` in `type`, expected one of"),
        ({"data": {}}, "malformed: the message is not a change event: found nothing in `type`"),
        (message("insert", None), "malformed: the event has no row: `data` is missing or null"),
        (message("update", {"id": 1}, old=["id"]), "malformed: `data` or `old` is not an object"),
        (message("insert", {"id": 1}, position=None), "null_ordering"),
    ],
)
def test_what_changes_no_row_is_refused_in_words(value: Any, expected: str) -> None:
    (found,) = faults_of(read("maxwell", [value])).values()

    assert found.startswith(expected)


def test_parts_of_messages_are_columns_and_fields_of_conditions() -> None:
    columns = {"id": "BIGINT", "pos": "BYTES", "xid": "BIGINT"}
    messages = [message("update", {"id": 3}, old={"id": 2}), message("insert", {}, table="other")]

    found = read(
        "maxwell",
        messages,
        columns=columns,
        sources={"xid": {"source": "change"}},
        where="`table` = 'orders'",
    )

    assert found.left_out == 1
    assert rows_of(found, "id", "xid") == [("-", 2, None), ("+", 3, 5)]
