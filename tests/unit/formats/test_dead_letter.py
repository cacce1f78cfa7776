"""Dead letters carry the names that Kafka Connect gives, after the record's own headers."""

import pytest

from braid.formats.dead_letter import DeadLetter, DeadLetterReason


def test_own_headers_come_first_and_null_ones_stay() -> None:
    letter = DeadLetter(
        topic="t",
        partition=2,
        offset=7,
        reason=DeadLetterReason.MISSING_KEY,
        message="key column id is missing or null",
        headers=(("a", b"1"), ("b", None)),
    )

    headers = letter.all_headers(connector="c")

    assert headers[:2] == [("a", b"1"), ("b", b"")]
    assert dict(headers[2:]) == {
        "__connect.errors.topic": b"t",
        "__connect.errors.partition": b"2",
        "__connect.errors.offset": b"7",
        "__connect.errors.connector.name": b"c",
        "__connect.errors.task.id": b"2",
        "__connect.errors.stage": b"TASK_PUT",
        "__connect.errors.class.name": b"pipelines.ingest.Ingest",
        "__connect.errors.exception.class.name": b"braid.missing_key",
        "__connect.errors.exception.message": b"key column id is missing or null",
        "braid.reason": b"missing_key",
    }


@pytest.mark.parametrize(
    ("reason", "stage"),
    [
        (DeadLetterReason.MALFORMED, "VALUE_CONVERTER"),
        (DeadLetterReason.MALFORMED_KEY, "KEY_CONVERTER"),
        (DeadLetterReason.MALFORMED_HEADER, "HEADER_CONVERTER"),
        (DeadLetterReason.TOMBSTONE, "TASK_PUT"),
    ],
)
def test_the_stage_separates_conversion_from_the_rest(reason: DeadLetterReason, stage: str) -> None:
    assert reason.stage == stage
