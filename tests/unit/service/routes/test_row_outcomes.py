"""Outcomes of pushed records over HTTP: won, lost, aggregated, ignored, dead letters, and what is not known any more."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from braid.registry.store.letter_questions import LetterQuestions
from braid.schemas import LetterPage, ListedLetter
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from braid.service.limits import RequestLimits
from tests.support.fed_table import TABLE, FedTable, Message
from tests.support.waiting import wait_until
from tests.unit.service.routes.test_row_explanations import DECLARATION, STREAMS

LIMITS = RequestLimits(letter_wait_seconds=0.2)


@pytest.fixture
def bed() -> FedTable:
    streams = {**STREAMS, "sales": {**STREAMS["sales"], "where": "id > 0"}}
    return FedTable(declaration=DECLARATION, streams=streams, limits=LIMITS)


def sale(version: int | None, **values: Any) -> Message:
    return Message(value={"id": 7, "version": version, **values}, partition=1)


def token(
    bed: FedTable,
    stream: str,
    *offsets: int,
    partition: int = 1,
    key: dict[str, Any] | None = None,
) -> str:
    """Return the token of records of one key."""
    digest = key_digest(bed.table.schema, key or {"id": 7})
    places = {PushedPlace(partition, offset): digest for offset in offsets}
    return to_token(ReadAfter(table="shop.orders", stream=stream, topic_id=stream, records=places))


def outcomes(bed: FedTable, after: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bed.get(f"rows/outcomes?id=7&read_after={after}")["records"]
    return found


def by_column(record: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        name: (group["outcome"], group["reason"])
        for group in record["columns"]
        for name in group["columns"]
    }


def test_a_record_that_gives_values_has_won(bed: FedTable) -> None:
    bed.feed("sales", sale(2, total="12.50", note="gift"))

    answer = bed.get(f"rows/outcomes?id=7&read_after={token(bed, 'sales', 0)}")

    [record] = answer["records"]
    assert (answer["key"], answer["exists"], answer["stream"]) == ({"id": 7}, True, "sales")
    assert (answer["snapshot"]["id"], answer["left_out"]) == (4, 0)
    assert (record["partition"], record["offset"]) == (1, 0)
    assert (record["outcome"], record["reason"]) == ("won", "only-version")
    assert by_column(record) == dict.fromkeys(("total", "note", "version"), ("won", "only-version"))


def test_an_older_record_has_lost_to_the_winner(bed: FedTable) -> None:
    bed.feed("sales", sale(2, total="12.50", note="gift"))
    bed.feed("sales", sale(1, total="99.00", note="old"))

    [record] = outcomes(bed, token(bed, "sales", 1))

    assert (record["outcome"], record["reason"]) == ("lost", "late")
    winners = [group["winner"]["arrival"]["offset"] for group in record["columns"]]
    assert winners == [0] * len(record["columns"])
    assert by_column(record)["total"] == ("lost", "late")


def test_a_record_that_a_newer_one_has_replaced_has_lost_all_but_kept_columns(
    bed: FedTable,
) -> None:
    bed.feed("sales", sale(2, total="12.50", note="gift"))
    bed.feed("sales", sale(3, total="13.00"))

    first, second = outcomes(bed, token(bed, "sales", 0, 1))

    assert first["outcome"] == "won"
    assert by_column(first) == {
        "total": ("lost", "newer-sequence"),
        "version": ("lost", "newer-sequence"),
        "note": ("won", "only-version"),
    }
    # The newer record has left the kept column out, and has no part in it.
    assert by_column(second) == dict.fromkeys(("total", "version"), ("won", "newer-sequence"))


def test_a_record_that_was_folded_in_its_micro_batch_has_lost(bed: FedTable) -> None:
    bed.feed("sales", sale(1, total="1.00"), sale(2, total="2.00"), sale(0, total="0.00"))

    records = outcomes(bed, token(bed, "sales", 0, 1, 2))

    found = [(one["outcome"], by_column(one).get("total")) for one in records]
    assert found == [
        ("lost", ("lost", "folded")),
        ("won", ("won", "only-version")),
        ("lost", ("lost", "folded")),
    ]
    assert records[0]["columns"][0]["winner"]["arrival"]["offset"] == 1


def test_values_of_all_records_go_into_an_aggregated_column(bed: FedTable) -> None:
    clicks = [Message(value={"id": 7, "visits": n, "seen": n}) for n in (1, 2)]
    bed.feed("clicks", *clicks)
    bed.feed("clicks", Message(value={"id": 7, "visits": 5, "seen": 0}))

    records = outcomes(bed, token(bed, "clicks", 0, 1, 2, partition=0))

    assert [by_column(one)["visits"] for one in records] == [("aggregated", "aggregated")] * 3
    assert [one["outcome"] for one in records] == ["aggregated", "won", "aggregated"]
    assert [by_column(one)["seen"][0] for one in records] == ["lost", "won", "lost"]


def test_records_of_other_rows_are_not_in_the_answer(bed: FedTable) -> None:
    bed.feed("sales", sale(1, total="1.00"), sale(2, total="2.00"))
    other = {"id": 8}
    bed.feed("sales", Message(value={**other, "version": 1, "total": "1.00"}, partition=1))

    assert outcomes(bed, token(bed, "sales", 2, key=other)) == []


def test_a_record_whose_key_the_token_does_not_have_is_found_by_its_place(bed: FedTable) -> None:
    bed.feed("sales", sale(1, total="1.00"))
    records = {PushedPlace(1, 0): None}
    after = ReadAfter(table="shop.orders", stream="sales", topic_id="sales", records=records)

    [record] = outcomes(bed, to_token(after))

    assert record["outcome"] == "won"


def test_a_record_that_the_stream_leaves_out_is_ignored(bed: FedTable) -> None:
    bed.feed("sales", Message(value={"id": -7, "version": 1, "total": "1.00"}, partition=1))

    [record] = outcomes(bed, token(bed, "sales", 0))

    assert (record["outcome"], record["columns"]) == ("ignored", [])


def test_a_record_without_a_place_in_the_order_has_changed_nothing() -> None:
    bed = FedTable(
        declaration={
            "columns": [
                {"name": "id", "type": "BIGINT"},
                {"name": "paid", "type": "INT"},
                {"name": "version", "type": "INT"},
            ],
            "primary_key": ["id"],
            "sequence_groups": [
                {
                    "name": "sales",
                    "ordering": ["version"],
                    "columns": ["paid"],
                    "deletes": "clear_columns",
                }
            ],
        },
        streams={"sales": {"topic": "sales", "on_null_ordering": "clear"}},
    )
    bed.feed("sales", Message(value={"id": 7, "paid": 1, "version": 1}))
    bed.feed("sales", Message(value={"id": 7, "paid": 2}))

    first, second = outcomes(bed, token(bed, "sales", 0, 1, partition=0))

    assert (first["outcome"], second["outcome"]) == ("won", "ignored")


LETTER = ListedLetter(
    partition=1,
    offset=0,
    reason="conversion",
    message="column total is no number",
    generation=0,
    topic_id="sales",
    timestamp_ms=1,
    sent_ms=2,
    key=None,
    value=None,
    value_bytes=0,
    standing="open",
)
BAD = sale(1, total="not a number")


def answered(
    bed: FedTable, questions: LetterQuestions, after: str, page: LetterPage
) -> Iterator[dict[str, Any]]:
    """Yield the outcomes while a runner lists dead letters."""
    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(outcomes, bed, after)
        wait_until(lambda: bool(questions.open_questions(now_ms=0)))
        (query,) = questions.open_questions(now_ms=0)
        assert query.selection.offsets["1"].start == 0
        questions.answer(query.id, page)
        yield from sent.result()


@pytest.fixture
def patient() -> FedTable:
    """A table whose requests wait for a runner."""
    return FedTable(declaration=DECLARATION, streams=STREAMS)


def test_a_dead_letter_has_its_reason(patient: FedTable) -> None:
    patient.feed("sales", BAD, sale(2, total="1.00"), dead_letters=1)
    questions = LetterQuestions(patient.file_io, "/w")
    page = LetterPage(letters=(LETTER,))

    bad, good = answered(patient, questions, token(patient, "sales", 0, 1), page)

    assert (bad["outcome"], bad["reason"]) == ("dead_letter", LETTER.reason)
    assert (bad["message"], bad["columns"]) == (LETTER.message, [])
    assert good["outcome"] == "won"


@pytest.mark.parametrize("change", [{"standing": "not_committed"}, {"topic_id": "other"}])
def test_letters_of_other_attempts_and_topics_are_no_outcome(
    patient: FedTable, change: dict[str, str]
) -> None:
    patient.feed("sales", BAD, sale(2, total="1.00"), sale(3, total="1.00"), dead_letters=1)
    questions = LetterQuestions(patient.file_io, "/w")
    page = LetterPage(letters=(LETTER.model_copy(update={**change, "offset": 1}),))

    _, folded, _ = answered(patient, questions, token(patient, "sales", 0, 1, 2), page)

    assert (folded["outcome"], folded["reason"]) == ("lost", "folded")


def test_without_a_runner_a_possible_dead_letter_is_unknown(bed: FedTable) -> None:
    bed.feed("sales", BAD, sale(2, total="1.00"), dead_letters=1)

    bad, good = outcomes(bed, token(bed, "sales", 0, 1))

    assert (bad["outcome"], bad["reason"]) == ("unknown", "unknown: dead letters")
    assert good["outcome"] == "won"


def test_a_micro_batch_of_dead_letters_alone_needs_no_runner(bed: FedTable) -> None:
    bed.feed("sales", sale(3, total="1.00"))
    bed.feed("sales", BAD, dead_letters=1)

    [bad] = outcomes(bed, token(bed, "sales", 1))

    assert (bad["outcome"], bad["message"]) == ("dead_letter", None)
    assert bad["reason"] is not None


def test_what_a_compaction_has_merged_is_unknown_once_the_snapshots_before_it_expired(
    bed: FedTable,
) -> None:
    bed.feed("sales", sale(2, total="2.00", note="gift"))
    bed.feed("sales", sale(1, total="1.00"))
    bed.feed("sales", sale(3, total="3.00"))
    after = token(bed, "sales", 0, 1, 2)
    before = [one["outcome"] for one in outcomes(bed, after)]
    bed.table.compact(full=True)
    compacted = [one["outcome"] for one in outcomes(bed, after)]
    bed.table.expire(retain_min=1, retain_max=1)

    first, second, third = outcomes(bed, after)

    assert before == compacted == ["won", "lost", "won"]
    # The arrival columns of the compacted version name the records that have won.
    assert by_column(first) == {"note": ("won", "unknown: compacted")}
    assert (second["outcome"], second["reason"]) == ("unknown", "unknown: compacted")
    assert by_column(third)["total"] == ("won", "unknown: compacted")


def test_rows_of_a_table_without_groups_are_decided_as_a_whole() -> None:
    bed = FedTable(
        declaration={
            "columns": [{"name": "id", "type": "BIGINT"}, {"name": "paid", "type": "INT"}],
            "primary_key": ["id"],
            "merge_engine": "deduplicate",
        },
        streams={"sales": {"topic": "sales", "partitioned_by_key": True}},
        limits=LIMITS,
    )
    bed.feed("sales", Message(value={"id": 7, "paid": 1}))
    bed.feed("sales", Message(value={"id": 7, "paid": 2}))
    bed.feed("sales", *(Message(value={"id": 8, "paid": n}) for n in (3, 4)))

    first, second = outcomes(bed, token(bed, "sales", 0, 1, partition=0))
    other = token(bed, "sales", 2, partition=0, key={"id": 8})
    [folded] = bed.get(f"rows/outcomes?id=8&read_after={other}")["records"]

    assert by_column(first) == {"paid": ("lost", "newer-sequence")}
    assert by_column(second) == {"paid": ("won", "newer-sequence")}
    assert (folded["outcome"], folded["reason"]) == ("unknown", "unknown: micro-batch")


def test_many_records_of_a_row_are_the_newest_ones(bed: FedTable) -> None:
    bed.feed("sales", *(sale(number, total="1.00") for number in range(103)))

    after = token(bed, "sales", *range(103))
    answer = bed.get(f"rows/outcomes?id=7&read_after={after}")

    assert (len(answer["records"]), answer["left_out"]) == (100, 3)
    assert [one["outcome"] for one in answer["records"]] == ["lost"] * 99 + ["won"]


def test_a_request_without_a_token_is_refused(bed: FedTable) -> None:
    refused = bed.client.get(f"{TABLE}/rows/outcomes?id=7")

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert refused.json()["errors"][0]["field"] == "read_after"


def test_records_of_a_deleted_stream_have_no_outcome(bed: FedTable) -> None:
    bed.feed("sales", sale(2, total="12.50"))
    after = token(bed, "sales", 0)
    bed.client.post(f"{TABLE}/streams/sales/stop").raise_for_status()
    bed.client.delete(f"{TABLE}/streams/sales").raise_for_status()

    refused = bed.client.get(f"{TABLE}/rows/outcomes?id=7&read_after={after}")

    assert (refused.status_code, refused.json()["code"]) == (404, "stream_not_found")
