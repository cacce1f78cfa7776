"""Consumer files of this engine and of others."""

import pytest
from hypothesis import given, strategies as st

from braid.lake.errors import CorruptData
from braid.lake.format.consumer import Consumer, parse_consumer, serialize_consumer


def test_a_consumer_of_another_engine() -> None:
    data = b'{\n  "nextSnapshot" : 12\n}'

    assert parse_consumer(data) == Consumer(next_snapshot=12)


def test_a_plain_consumer_has_no_other_keys() -> None:
    assert serialize_consumer(Consumer(next_snapshot=12)) == b'{\n  "nextSnapshot": 12\n}'


@given(
    next_snapshot=st.integers(1, 1 << 62),
    deadline_ms=st.none() | st.integers(0, 1 << 62),
    holder=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
)
def test_what_is_written_is_read(
    next_snapshot: int, deadline_ms: int | None, holder: str | None
) -> None:
    consumer = Consumer(next_snapshot=next_snapshot, deadline_ms=deadline_ms, holder=holder)

    assert parse_consumer(serialize_consumer(consumer)) == consumer


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"nextSnapshot": "5"}', b'{"nextSnapshot": 5, "leaseHolder": 1}']
)
def test_any_other_content_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptData, match="consumer file"):
        parse_consumer(data)
