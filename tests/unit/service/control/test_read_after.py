"""Read-after tokens: what they stand for, and which snapshots meet them."""

from collections.abc import Mapping

import pytest

from braid.lake import Catalog, InvalidRequest, ManualClock, MemoryFileIO, Table
from braid.service.control.page_token import encode_token
from braid.service.control.read_after import (
    PushedPlace,
    ReadAfter,
    is_taken_in,
    key_digest,
    parse_token,
    to_token,
)

SCHEMA = (
    Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    .create_table(
        "shop.orders",
        columns=[("id", "BIGINT"), ("total", "INT")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    .schema
)
KEYS = [key_digest(SCHEMA, {"id": number}) for number in range(4)]


def after(
    records: Mapping[tuple[int, int], bytes | None], *, stream: str = "sales", topic_id: str = "T"
) -> ReadAfter:
    places = {PushedPlace(*place): key for place, key in records.items()}
    return ReadAfter(table="shop.orders", stream=stream, topic_id=topic_id, records=places)


AFTER = after({(1, 8): KEYS[0], (0, 41): KEYS[1], (0, 40): None, (0, 38): KEYS[0]})


def test_a_token_is_read_as_it_was_made() -> None:
    found = parse_token(to_token(AFTER))

    assert found == AFTER
    assert found.offsets == {0: 41, 1: 8}


def test_a_token_names_the_records_of_a_key() -> None:
    found = parse_token(to_token(AFTER))

    assert [place for place, key in sorted(found.records.items()) if key == KEYS[0]] == [
        PushedPlace(0, 38),
        PushedPlace(1, 8),
    ]


def test_the_token_of_the_largest_push_fits_into_an_address() -> None:
    records = {(number % 2, 10**9 + number // 2): KEYS[number % 4] for number in range(1_000)}

    assert len(to_token(after(records))) < 9_000


def test_rows_of_other_keys_have_other_digests() -> None:
    assert len(set(KEYS)) == len(KEYS)
    assert key_digest(SCHEMA, {"id": 1, "total": 7}) == KEYS[1]
    assert key_digest(SCHEMA, None) is None
    assert key_digest(SCHEMA, {"total": 7}) is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        "?",
        "bm90IEpTT04",
        encode_token(b"[]"),
        encode_token(b'["a.b","s","T",[]]'),
        encode_token(b'["a.b","s","T",[[0,-1,1]]]\n' + bytes(6)),
        encode_token(b'["a.b","s","T",[["0",1,1]]]\n' + bytes(6)),
        encode_token(b'["a.b","s","T",[[0,1,0]]]\n'),
        encode_token(b'["a.b","s","T",[[0,1,2]]]\n' + bytes(6)),
        encode_token(b'["a.b","s","T",[[0,1,1001]]]\n' + bytes(6_006)),
        encode_token(b'["a.b","s",7,[[0,1,1]]]\n' + bytes(6)),
    ],
)
def test_another_text_is_refused(token: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_token(token)

    assert refused.value.problems[0].field == "read_after"


def test_a_token_of_another_table_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="read_after"):
        is_taken_in(AFTER, {}, table="shop.parcels")


def is_met(after: ReadAfter, table: Table) -> bool:
    positions = table.committer().stream_positions()
    return is_taken_in(after, positions, table="shop.orders")


def test_a_snapshot_meets_a_token_once_it_has_read_past_all_of_its_offsets() -> None:
    table = table_at({0: 42, 1: 8})
    assert not is_taken_in(AFTER, {}, table="shop.orders")
    assert not is_met(AFTER, table)
    assert not is_met(after({(0, 41): None}, stream="payments"), table)
    assert not is_met(after({(2, 0): None}), table)

    assert is_met(AFTER, table_at({0: 42, 1: 9}))


def test_a_snapshot_of_another_topic_is_no_answer() -> None:
    table = table_at({0: 42, 1: 9})

    with pytest.raises(InvalidRequest) as refused:
        is_met(after({(0, 41): None}, topic_id="U"), table)

    assert "sales" in refused.value.problems[0].message


def table_at(offsets: dict[int, int]) -> Table:
    """Return a table whose stream `sales` has a position."""
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    table = catalog.create_table(
        "shop.orders", columns=[("id", "BIGINT")], primary_key=["id"], options={"bucket": "1"}
    )
    table.committer().claim_stream("sales", topic="orders", topic_id="T", initial_offsets=offsets)
    return catalog.table("shop.orders")
