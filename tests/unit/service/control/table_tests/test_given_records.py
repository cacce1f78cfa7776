"""Records of a test have places and times, as records of Kafka have."""

from typing import Any

from braid.schemas import GivenRecord
from braid.service.control.table_tests.given_records import (
    FIRST_MS,
    batches_of,
    newest_ms,
    placed_records,
)


def placed(*given: dict[str, Any]) -> list[GivenRecord]:
    return placed_records([GivenRecord.model_validate(one) for one in given])


def test_offsets_follow_those_of_the_same_stream_and_partition() -> None:
    records = placed(
        {"stream": "a"},
        {"stream": "b"},
        {"stream": "a"},
        {"stream": "a", "partition": 1},
        {"stream": "a", "offset": 40},
        {"stream": "a"},
        {"stream": "a", "offset": 3},
        {"stream": "a"},
    )

    assert [record.offset for record in records] == [0, 0, 1, 0, 40, 41, 3, 42]


def test_each_record_without_a_time_is_a_second_younger_than_the_one_before() -> None:
    records = placed(
        {"stream": "a"},
        {"stream": "b"},
        {"stream": "a", "timestamp_ms": 0},
        {"stream": "a"},
    )

    assert [record.timestamp_ms for record in records] == [FIRST_MS, FIRST_MS + 1_000, 0, 1_000]
    assert newest_ms(records) == FIRST_MS + 1_000
    assert newest_ms([]) == FIRST_MS


def test_a_batch_has_the_records_of_one_stream_until_another_stream_comes() -> None:
    records = placed(*({"stream": name} for name in "aabbba"))

    batches = list(batches_of(records, are_single=False))

    assert [(stream, len(batch)) for stream, batch in batches] == [("a", 2), ("b", 3), ("a", 1)]
    assert [record for _, batch in batches for record in batch] == records
