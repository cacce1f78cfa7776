"""A dead letter has the record as it came, and why it was refused."""

import pytest

from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.formats.fault import Fault
from braid.lake import LetterAttempt
from braid.pipelines.sink.dead_letters import LetterOrigin, dead_letters
from tests.unit.records.given_streams import AT, given_records

ATTEMPT = LetterAttempt(epoch=2, batch_id=3, attempt=1)
ORIGIN = LetterOrigin(topic="t", topic_id="id", generation=4, attempt=ATTEMPT)
AT_MS = int(AT.timestamp() * 1_000)
FAULT = Fault(DeadLetterReason.MALFORMED, "not JSON")


def test_letters_have_the_raw_parts_of_their_records() -> None:
    records = given_records(
        [b"{", None], keys=[b"\xff", None], headers=[("h", b"v"), ("null", None)], partition=3
    )
    fault = Fault(DeadLetterReason.TOMBSTONE, "no value")

    letters = dead_letters(records, [FAULT, fault], origin=ORIGIN)

    headers = (("h", b"v"), ("null", None))
    assert letters == [
        DeadLetter(
            topic="t",
            partition=3,
            offset=0,
            reason=DeadLetterReason.MALFORMED,
            message="not JSON",
            key=b"\xff",
            value=b"{",
            headers=headers,
            topic_id="id",
            generation=4,
            timestamp_ms=AT_MS,
            attempt=ATTEMPT,
        ),
        DeadLetter(
            topic="t",
            partition=3,
            offset=1,
            reason=DeadLetterReason.TOMBSTONE,
            message="no value",
            headers=headers,
            topic_id="id",
            generation=4,
            timestamp_ms=AT_MS,
            attempt=ATTEMPT,
        ),
    ]


def test_a_record_may_have_no_headers() -> None:
    (letter,) = dead_letters(given_records([b"{"]), [FAULT], origin=ORIGIN)

    assert letter.headers == ()


@pytest.mark.parametrize("name", ["\ud800", "x\udfff"])
def test_halves_of_surrogate_pairs_are_written_as_escapes(name: str) -> None:
    fault = Fault(
        DeadLetterReason.NEW_FIELD,
        f"the record has fields that the stream does not declare: {name}",
    )

    (letter,) = dead_letters(given_records([b"{}"]), [fault], origin=ORIGIN)

    assert letter.message.encode().endswith(name.encode("utf-8", "backslashreplace"))
