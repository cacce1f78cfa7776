"""A replay writes each record of a committed dead letter once, at the place that it had."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.lake import BatchAccount, InvalidRequest, LetterAttempt, LimitExceeded
from braid.lake.commit.streams.stream_letters import RANGES_MAX
from braid.pipelines.replay.letter_topic import TopicLetter
from braid.pipelines.replay.replay_run import ReplayRun
from braid.schemas import AggregateSpec, LetterSelection, TableSpec
from tests.support.replay_bed import TOPIC_ID, GivenTarget, ReplayBed
from tests.unit.records.given_streams import given_plan, given_spec

SPEC = given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1)
LONG = "x" * 100
NARROW = {"max_message_bytes": 90}


def row(key: int, version: int, text: str = "a", **more: Any) -> dict[str, Any]:
    return {"id": key, "a": text, "version": version, **more}


def long(key: int, version: int) -> dict[str, Any]:
    """A record that a narrow stream refuses as too large."""
    return row(key, version, f"{version}", pad=LONG)


def counting() -> TableSpec:
    """A table that counts a record twice if it is written twice."""
    spec = given_spec({"id": "BIGINT", "n": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1)
    number = spec.columns[1].model_copy(update={"aggregate": AggregateSpec(function="sum")})
    return spec.model_copy(update={"columns": (spec.columns[0], number, *spec.columns[2:])})


def values(bed: ReplayBed, name: str = "a") -> dict[int, Any]:
    return {found["id"]: found[name] for found in bed.rows()}


def test_a_replayed_record_has_the_place_that_it_had() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 5), row(1, 9, "newer"), row(2, 1, "older"), long(2, 5), long(3, 5)])

    result = bed.replay(given_plan(SPEC))

    assert values(bed) == {1: "newer", 2: "5", 3: "5"}
    assert (result.accepted, result.folded, result.failed_again, result.left) == (3, 0, {}, {})
    letters = bed.position.letters
    assert letters.replayed == {0: ((0, 5),)}
    assert letters.replayed_by_reason == letters.by_reason == {"too_large": 3}
    assert bed.position.account == BatchAccount(accepted=2, dead_lettered=3)
    assert letters.replayed_records == 3


def test_equal_ordering_values_are_decided_by_the_offsets_that_the_records_had() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([row(1, 5, "first"), long(1, 5), row(2, 5, "x"), long(2, 5), row(2, 5, "last")])

    bed.replay(given_plan(SPEC))

    assert values(bed) == {1: "5", 2: "last"}


def test_arrival_columns_of_a_replayed_record_are_its_own() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([row(9, 1)], partition=2)
    bed.ingest([long(1, 5)], partition=2)

    bed.replay(given_plan(SPEC))

    (found, other) = bed.rows()
    assert (found["s__offset"], found["s__partition"]) == (1, 2)
    assert found["s__at"] == other["s__at"]


def test_a_second_replay_changes_nothing() -> None:
    bed = ReplayBed(counting(), **NARROW)
    bed.ingest([{"id": 1, "n": 1, "version": 1}, {"id": 1, "n": 10, "version": 2, "pad": LONG}])
    mended = given_plan(counting())
    bed.replay(mended)
    before = bed.opened().latest_snapshot()

    again = bed.replay(mended)

    assert values(bed, "n") == {1: 11}
    assert again.accepted == 0
    assert bed.opened().latest_snapshot() == before


@pytest.mark.parametrize("killed_after", range(7))
def test_a_replay_that_was_killed_continues_and_counts_each_record_once(killed_after: int) -> None:
    bed = ReplayBed(counting(), **NARROW)
    bed.ingest([{"id": 1, "n": 10**n, "version": n, "pad": LONG} for n in range(6)])
    mended = given_plan(counting())
    run = ReplayRun(
        LetterSelection(),
        source=bed.letters,
        targets=GivenTarget(bed, mended, reads_max=killed_after),
        chunk_letters=2,
    )
    try:
        run.run(finished_ms=lambda: 7)
    except KeyboardInterrupt:
        assert killed_after < 6

    bed.replay(mended, chunk_letters=2)

    assert values(bed, "n") == {1: 111_111}
    assert bed.position.letters.replayed == {0: ((0, 6),)}
    assert bed.position.letters.replayed_records == 6


def test_letters_of_attempts_that_were_never_committed_are_not_replayed() -> None:
    """Their records were read again, and accepted then: replayed, they would count twice."""
    bed = ReplayBed(counting(), **NARROW)
    mended = given_plan(counting())
    record = {"id": 1, "n": 5, "version": 1, "pad": LONG}
    bed.ingest([record], is_committed=False)
    bed.attempt = 1  # the same batch again, after a change of the declaration
    bed.ingest([record], plan=mended)
    bed.ingest([record], is_committed=False)  # the runner is killed before the commit
    bed.claim()
    bed.ingest([record], plan=mended)

    result = bed.replay(mended)

    assert values(bed, "n") == {1: 10}
    assert (result.accepted, result.left) == (0, {})


def test_a_letter_that_was_sent_twice_is_replayed_once() -> None:
    bed = ReplayBed(counting(), **NARROW)
    bed.ingest([{"id": 1, "n": 5, "version": 1, "pad": LONG}], is_committed=False)
    bed.attempt = 1
    bed.ingest([{"id": 1, "n": 5, "version": 1, "pad": LONG}])
    bed.letters.messages *= 2

    bed.replay(given_plan(counting()))

    assert values(bed, "n") == {1: 5}


def test_records_that_fail_again_stay_letters_and_can_be_replayed_later() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([b"{", long(1, 5), b"[]"])

    first = bed.replay(given_plan(SPEC))
    again = bed.replay(given_plan(SPEC))

    assert first.accepted == 1
    assert first.failed_again == again.failed_again == {"malformed": 2}
    assert "partition 0, offset 0: malformed: not JSON" in first.examples[0]
    assert bed.position.letters.replayed == {0: ((1, 2),)}
    assert len(bed.letters.messages) == 3


def test_a_row_that_the_table_refuses_fails_alone() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 1), row(2, 1, "y" * 90), long(3, 1)])
    # Another engine has made the column shorter since, which the plan does not know.
    narrow = given_spec({"id": "BIGINT", "a": "VARCHAR(9)", "version": "INT"}, buckets=1)
    other = ReplayBed(narrow, **NARROW)
    other.ingest([b""] * 3)
    other.letters = bed.letters

    result = other.replay(given_plan(SPEC))

    assert (result.accepted, result.failed_again) == (2, {"refused_row": 1})
    assert values(other) == {1: "1", 3: "1"}


def test_reasons_and_offsets_select() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 1), {"a": "x", "version": 1}, long(2, 1), long(3, 1)])
    bed.ingest([long(4, 1)], partition=1)
    mended = given_plan(SPEC)

    assert bed.replay(mended, reasons=["missing_key"]).failed_again == {"missing_key": 1}
    bed.replay(mended, offsets={"0": {"start": 2, "end": 3}})
    assert values(bed).keys() == {2}
    bed.replay(mended, reasons=["too_large"], offsets={"1": {"start": 0, "end": 9}})
    assert values(bed).keys() == {2, 4}
    bed.replay(mended, reasons=["too_large"])
    assert values(bed).keys() == {1, 2, 3, 4}
    # Between 0 and 2 there is a letter that is not replayed.
    assert bed.position.letters.replayed == {0: ((0, 1), (2, 4)), 1: ((0, 1),)}


def _letter(**changed: Any) -> DeadLetter:
    letter = DeadLetter(
        topic="topic",
        partition=0,
        offset=0,
        reason=DeadLetterReason.TOO_LARGE,
        message="too large",
        value=b'{"id": 1, "n": 1, "version": 1}',
        topic_id=TOPIC_ID,
        generation=0,
        timestamp_ms=0,
        attempt=LetterAttempt(epoch=1, batch_id=0, attempt=0),
    )
    return replace(letter, **changed)


@pytest.mark.parametrize(
    ("letters", "left"),
    [
        ([_letter(topic_id="another")], {"other_topic": 1}),
        ([_letter(generation=1)], {"unknown_generation": 1}),
        ([_letter(generation=None)], {"earlier_version": 1}),
        ([_letter(value_bytes=10**6), _letter(offset=1, value_bytes=9)], {"cut": 2}),
        ([_letter(attempt=LetterAttempt(epoch=0, batch_id=0, attempt=0))], {"unknown_attempt": 1}),
        ([_letter(topic="that the stream read before")], {"other_topic": 1}),
        ([_letter(offset=3)], {}),  # not read yet: the stream will
    ],
)
def test_what_cannot_be_right_is_left_and_counted(
    letters: Sequence[DeadLetter], left: dict[str, int]
) -> None:
    bed = ReplayBed(counting(), **NARROW)
    bed.ingest([b"{", row(2, 1)])
    bed.letters.messages.clear()
    bed.letters.send(letters, connector=bed.plan.connector)

    result = bed.replay(given_plan(counting()))

    assert (result.accepted, result.left) == (0, left)
    assert bed.position.letters.replayed == {}


def test_letters_of_a_former_stream_of_the_name_are_left() -> None:
    """The present stream counts from zero: as replayed, they would be more than its dead letters."""
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 5), row(2, 1)])
    for topic in ("another", "topic"):  # deleted and registered anew, with a start
        bed.claim(topic, former_epoch=bed.position.epoch)
    bed.ingest([row(3, 1), long(4, 1), row(5, 1)])

    result = bed.replay(given_plan(SPEC))

    assert (result.accepted, result.left) == (1, {"former_stream": 1})
    assert values(bed) == {2: "a", 3: "a", 4: "1", 5: "a"}
    assert bed.position.letters.replayed_by_reason == bed.position.letters.by_reason
    assert bed.position.open_letters == 0


def test_letters_of_another_sender_are_none_of_the_stream() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([b"{"])
    bed.letters.messages.clear()
    bed.letters.send([_letter()], connector="braid.db.t.another")

    assert bed.replay(given_plan(SPEC)).accepted == 0


def test_deletes_are_replayed_in_their_place() -> None:
    spec = given_spec(
        {"id": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1, deletes="clear_columns"
    )
    narrow = given_plan(spec, delete_when="op = 'd'", **NARROW)
    bed = ReplayBed(spec, delete_when="op = 'd'", **NARROW)
    assert bed.plan == narrow
    bed.ingest(
        [
            row(1, 1),
            {"op": "d", "id": 1, "version": 2, "pad": LONG},
            row(2, 1),
            {"op": "d", "id": 2, "version": 2, "pad": LONG},
            row(2, 3, "again"),
        ]
    )

    bed.replay(given_plan(spec, delete_when="op = 'd'"))

    assert values(bed) == {1: None, 2: "again"}


def test_a_later_good_record_of_the_key_heals_the_row_by_itself() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([row(1, 1, "first"), long(1, 2), row(1, 3, "third")])
    healed = bed.rows()

    bed.replay(given_plan(SPEC))

    assert values(bed) == {1: "third"}
    assert bed.rows() == healed


def test_new_fields_of_an_evolving_stream_are_left_to_the_stream() -> None:
    bed = ReplayBed(SPEC, on_new_field="evolve", **NARROW)
    bed.ingest([row(1, 1, pad=LONG)])

    result = bed.replay(given_plan(SPEC, on_new_field="evolve"))

    assert result.failed_again == {"new_field": 1}
    assert "the running stream has to change the table first, for pad" in result.examples[0]


class _LateLetter:
    """A topic with a letter that one task sends after the topic's end was asked for, and another one before."""

    def __init__(self, bed: ReplayBed) -> None:
        self._bed = bed

    def bounds(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        self._bed.ingest([long(3, 1), long(4, 1)])
        messages = self._bed.letters.messages
        messages[-2:] = reversed(messages[-2:])
        return {0: 0}, {0: len(messages) - 1}

    def read(
        self, start: Mapping[int, int], end: Mapping[int, int]
    ) -> Iterator[tuple[list[TopicLetter], Mapping[int, int]]]:
        return self._bed.letters.read(start, end)


def test_a_letter_that_is_sent_meanwhile_does_not_count_as_replayed() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 1), row(2, 1)])
    mended = given_plan(SPEC)
    run = ReplayRun(LetterSelection(), source=_LateLetter(bed), targets=GivenTarget(bed, mended))

    run.run(finished_ms=lambda: 7)
    assert values(bed).keys() == {1, 2, 4}
    bed.replay(mended)

    assert values(bed).keys() == {1, 2, 3, 4}
    assert bed.position.letters.replayed == {0: ((0, 4),)}


def test_records_that_are_refused_when_they_are_read_again_do_not_count_as_replayed() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 1), row(2, 1), long(3, 1)])
    mended = given_plan(SPEC)

    def read_again(count: int) -> None:
        if count == 1:
            bed.table.committer().move_stream(bed.position, offsets={0: 1}, commit_user="registry")
            bed.claim()
            bed.ingest([row(2, 1), long(3, 1)], plan=given_plan(SPEC, max_message_bytes=5))

    ReplayRun(
        LetterSelection(),
        source=bed.letters,
        targets=GivenTarget(bed, mended),
        on_commit=read_again,
        chunk_letters=1,
    ).run(finished_ms=lambda: 7)
    assert bed.position.letters.replayed == {0: ((0, 1), (2, 3))}

    assert bed.replay(mended).accepted == 1
    assert bed.position.letters.replayed == {0: ((0, 3),)}


def test_a_letter_is_replayed_again_after_its_record_was_read_again_and_refused() -> None:
    """By a declaration with another column, say, which the first replay did not fill."""
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([row(1, 1), row(2, 1), long(3, 1)], plan=given_plan(SPEC, max_message_bytes=5))
    bed.replay(given_plan(SPEC))
    bed.table.committer().move_stream(bed.position, offsets={0: 1}, commit_user="registry")
    bed.claim()
    bed.ingest([row(2, 2, "again"), long(3, 2)])

    assert bed.position.letters.replayed == {0: ((0, 1),)}
    assert bed.replay(given_plan(SPEC), offsets={"0": {"start": 2, "end": 3}}).accepted == 1


def test_more_ranges_than_a_position_remembers_are_refused() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1)
    bed = ReplayBed(spec, **NARROW)
    bed.ingest([message for key in range(RANGES_MAX + 1) for message in (long(key, 1), b"{")])
    before = bed.opened().latest_snapshot()

    with pytest.raises(LimitExceeded, match=f"would form {RANGES_MAX + 1} ranges"):
        bed.replay(given_plan(spec), reasons=["too_large"])

    assert bed.opened().latest_snapshot() == before
    files = [one.path for one in bed.file_io.list(bed.table.path) if "bucket" in one.path]
    assert len(files) <= 1


def test_a_stream_that_was_never_started_has_no_letters() -> None:
    bed = ReplayBed(SPEC)
    other = given_plan(SPEC)
    other = replace(other, spec=other.spec.model_copy(update={"name": "other"}))

    with pytest.raises(InvalidRequest, match="has not been started yet"):
        bed.replay(other)


def test_a_record_of_several_rows_is_replayed_as_a_whole_and_counted_once() -> None:
    def moved(before: int, after: int, text: str) -> dict[str, Any]:
        data = {"id": after, "a": text}
        return {"type": "update", "data": data, "old": {"id": before}, "pad": LONG}

    columns = {"id": "BIGINT", "a": "STRING"}
    declared: dict[str, Any] = {"ordering": None, "buckets": 1, "deletes": "clear_columns"}
    bed = ReplayBed(given_spec(columns, **declared), format="maxwell", **NARROW)
    bed.ingest([moved(1, 2, "x"), moved(3, 4, "y" * 10), b"{"])
    # Another engine has made the column shorter since, which the plan does not know.
    other = ReplayBed(
        given_spec(columns | {"a": "VARCHAR(9)"}, **declared), format="maxwell", **NARROW
    )
    other.ingest([b""] * 3)
    other.letters = bed.letters

    result = other.replay(given_plan(bed.spec, format="maxwell"))

    assert (result.accepted, result.folded) == (1, 0)
    assert result.failed_again == {"refused_row": 1, "malformed": 1}
    assert values(other) == {1: None, 2: "x"}
