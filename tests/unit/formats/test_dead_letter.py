"""Dead letters carry the names that Kafka Connect gives, after the record's own headers."""

from dataclasses import replace
from typing import Any

import pytest

from braid.formats.dead_letter import DeadLetter, DeadLetterReason, parse_dead_letter
from braid.lake import LetterAttempt

LETTER = DeadLetter(
    topic="t",
    partition=2,
    offset=7,
    reason=DeadLetterReason.WRONG_TYPE,
    message="field a: found é",
    key=b"\xff",
    value=b"{",
    headers=(("trace", b"\x00\xff"), ("none", None), ("trace", b"")),
    topic_id="id-1",
    generation=3,
    timestamp_ms=-1,
    attempt=LetterAttempt(epoch=5, batch_id=17, attempt=1),
)


def _parsed(letter: DeadLetter) -> tuple[DeadLetter, str] | None:
    headers: list[tuple[str, bytes | None]] = [*letter.all_headers(connector="c")]
    return parse_dead_letter(key=letter.key, value=letter.value, headers=headers)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"key": None, "value": None, "headers": ()},
        {"value": b"", "headers": (("none", None),)},
        {"value_bytes": 100_000},
        # As a version before generations has sent it.
        {"topic_id": "", "generation": None, "timestamp_ms": None, "attempt": None},
    ],
)
def test_a_letter_is_read_as_it_was_sent(changed: dict[str, Any]) -> None:
    letter = replace(LETTER, **changed)

    assert _parsed(letter) == (letter, "c")


def test_a_record_that_is_itself_a_letter_keeps_its_headers() -> None:
    inner = replace(LETTER, topic="first", value_bytes=9)
    outer = replace(LETTER, topic="second", headers=tuple(inner.all_headers(connector="inner")))

    assert _parsed(outer) == (outer, "c")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("a", b"1")],
        [("__connect.errors.topic", b"t")],
        [(n, b"x") for n, _ in LETTER.all_headers(connector="c")],
        [(n, v if n != "braid.attempt" else b"1.2") for n, v in LETTER.all_headers(connector="c")],
        [(n, v if n != "braid.reason" else b"\xff") for n, v in LETTER.all_headers(connector="c")],
    ],
)
def test_another_message_is_no_letter(headers: list[tuple[str, bytes | None]]) -> None:
    assert parse_dead_letter(key=None, value=b"", headers=headers) is None


def test_own_headers_come_first_and_null_ones_are_told() -> None:
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
        "braid.headers.null": b"1",
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
