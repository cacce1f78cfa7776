"""Read-after tokens: what they stand for, and which snapshots meet them."""

from dataclasses import replace

import pytest

from braid.lake import Catalog, InvalidRequest, ManualClock, MemoryFileIO, Table
from braid.service.control.page_token import encode_token
from braid.service.control.read_after import (
    ReadAfter,
    is_taken_in,
    parse_token,
    to_token,
)

AFTER = ReadAfter(table="shop.orders", stream="sales", topic_id="T", offsets={1: 8, 0: 41})


def test_a_token_is_read_as_it_was_made() -> None:
    assert parse_token(to_token(AFTER)) == AFTER


@pytest.mark.parametrize(
    "token",
    [
        "",
        "?",
        "bm90IEpTT04",
        encode_token(b"[]"),
        encode_token(b'["a.b","s","T",[]]'),
        encode_token(b'["a.b","s","T",[[0,-1]]]'),
        encode_token(b'["a.b","s","T",[["0",1]]]'),
        encode_token(b'["a.b","s",7,[[0,1]]]'),
    ],
)
def test_another_text_is_refused(token: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_token(token)

    assert refused.value.problems[0].field == "read_after"


def test_a_token_of_another_table_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="read_after"):
        is_taken_in(AFTER, None, table="shop.parcels")


def is_met(after: ReadAfter, table: Table) -> bool:
    return is_taken_in(after, table.latest_snapshot(), table="shop.orders")


def test_a_snapshot_meets_a_token_once_it_has_read_past_all_of_its_offsets() -> None:
    table = table_at({0: 42, 1: 8})
    assert not is_taken_in(AFTER, None, table="shop.orders")
    assert not is_met(AFTER, table)
    assert not is_met(replace(AFTER, stream="payments"), table)
    assert not is_met(replace(AFTER, offsets={2: 0}), table)

    assert is_met(AFTER, table_at({0: 42, 1: 9}))


def test_a_snapshot_of_another_topic_is_no_answer() -> None:
    table = table_at({0: 42, 1: 9})

    with pytest.raises(InvalidRequest) as refused:
        is_met(replace(AFTER, topic_id="U"), table)

    assert "sales" in refused.value.problems[0].message


def table_at(offsets: dict[int, int]) -> Table:
    """Return a table whose stream `sales` has a position."""
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    table = catalog.create_table(
        "shop.orders", columns=[("id", "BIGINT")], primary_key=["id"], options={"bucket": "1"}
    )
    table.committer().claim_stream("sales", topic="orders", topic_id="T", initial_offsets=offsets)
    return catalog.table("shop.orders")
