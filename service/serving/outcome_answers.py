"""Answers about pushed records: what has become of each in its row.

Most is known from the versions of the row. A record that may be a dead letter is looked for among the letters that a runner lists,
in few threads of their own: a runner that does not answer delays no other request.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from starlette.concurrency import run_in_threadpool

from braid.formats.json_values import json_row
from braid.lake import InvalidRequest, Problem, StorageUnavailable, StreamBatch
from braid.registry.errors import NoRunnerAnswers
from braid.registry.stream_entries import entry_of
from braid.schemas import LetterSelection, OffsetSpan
from braid.schemas.record_outcome import RowOutcomes
from braid.service.control.dead_letters import LetterReader
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest
from braid.service.control.record_batches import find_batch, has_read
from braid.service.control.record_outcomes import Letters, RowRecords, letters_of
from braid.service.control.row_request import READ_AFTER
from braid.service.serving.followers import Followers
from braid.service.serving.row_explainer import ExplainedRow, RowExplainer
from braid.service.serving.snapshot_waits import SnapshotWaits

RECORDS_MAX: Final = 100
"""Most records of one answer; each has outcomes by column."""

_THREADS: Final = 2
_LETTERS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """An answer, but for dead letters.

    Attributes:
        row: The explained row.
        records: The records among its versions.
        batches: The records of the answer, each with the micro-batch that has read it, if that is known.
        left_out: Number of records that are left out.
        in_question: The records that may be dead letters.
    """

    row: ExplainedRow
    records: RowRecords
    batches: dict[PushedPlace, StreamBatch | None]
    left_out: int
    in_question: list[PushedPlace]

    def answer(self, letters: Letters) -> bytes:
        row, after = self.row, self.records.after
        outcomes = RowOutcomes(
            key=json_row(row.key, [row.lookup.schema.field(name) for name in row.key]),
            exists=row.found.row is not None,
            stream=after.stream,
            records=tuple(
                self.records.outcome(place, batch, letters) for place, batch in self.batches.items()
            ),
            left_out=self.left_out,
            snapshot=row.snapshot,
        )
        return outcomes.model_dump_json().encode()


class OutcomeAnswers:
    """Answers requests for the outcomes of pushed records. Close it at the end."""

    def __init__(
        self,
        explainer: RowExplainer,
        followers: Followers,
        waits: SnapshotWaits,
        letters: LetterReader,
    ) -> None:
        """Ask nobody yet.

        Args:
            explainer: Explains rows.
            followers: Reads the declaration of a table that was registered a moment ago.
            waits: Bounds the requests that wait for letters.
            letters: Asks runners for dead letters.
        """
        self._explainer = explainer
        self._followers = followers
        self._waits = waits
        self._letters = letters
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="dead letters")

    async def outcomes(self, identifier: str, query: bytes) -> bytes:
        """Return what has become of the pushed records of a row, as `RowOutcomes`.

        Args:
            identifier: The table.
            query: Query of the address: the key, and `read_after`.

        Raises:
            InvalidRequest: The request has no `read_after`.
            StreamNotFound: The table does not have the stream any more.
            What `RowExplainer.explain` raises.
        """
        draft = await self._explainer.explained(identifier, query, self._draft)
        letters = Letters(by_place={}, are_read=True)
        if draft.in_question:
            async with self._waits.entered():
                letters = await self._read_letters(identifier, draft)
        return await run_in_threadpool(draft.answer, letters)

    def close(self) -> None:
        """End the threads, without waiting for them."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _draft(self, row: ExplainedRow) -> _Draft:
        after = row.request.freshness.read_after
        if after is None:
            problem = Problem(
                field=READ_AFTER,
                value=None,
                message="required: it names the pushed records",
                hint="use `read_after` of the answer to the push",
            )
            message = "the request names no pushed records"
            raise InvalidRequest(message, problems=[problem])
        document = row.served.table.document or self._followers.document(row.lookup.identifier)
        entry_of(document, after.stream)
        records = RowRecords(found=row.found, streams=row.streams, document=document, after=after)
        places = _places_of(row, records)
        batches = _batches(row, records, places[-RECORDS_MAX:])
        position = row.served.table.positions[after.stream]
        in_question = [
            place for place, batch in batches.items() if records.may_be_letter(place, batch)
        ]
        return _Draft(
            row=row,
            records=records,
            batches=batches,
            left_out=len(places) - len(batches),
            in_question=in_question if position.account.dead_lettered else [],
        )

    async def _read_letters(self, identifier: str, draft: _Draft) -> Letters:
        """Return the dead letters among the records in question, as far as a runner lists them in time."""
        after, loop = draft.records.after, asyncio.get_running_loop()

        def read() -> Letters:
            page, following = self._letters.page(
                identifier,
                after.stream,
                _selection(draft.in_question),
                limit=_LETTERS_MAX,
                page_token=None,
            )
            return letters_of(page.letters, after, are_all=following is None)

        try:
            async with asyncio.timeout(self._letters.wait_seconds):
                return await loop.run_in_executor(self._threads, read)
        except (TimeoutError, NoRunnerAnswers, StorageUnavailable):
            return Letters(by_place={}, are_read=False)


def _places_of(row: ExplainedRow, records: RowRecords) -> list[PushedPlace]:
    """Return the pushed records of a row, in the order of partition and offset; of those whose key is not known, the ones that are found."""
    after: ReadAfter = records.after
    schema = row.lookup.schema
    key = key_digest(schema, json_row(row.key, [schema.field(name) for name in row.key]))
    assert key is not None, "a request has all columns of the key"
    return [
        place
        for place, digest in sorted(after.records.items())
        if digest == key or (digest is None and records.newest_version(place) is not None)
    ]


def _batches(
    row: ExplainedRow, records: RowRecords, places: list[PushedPlace]
) -> dict[PushedPlace, StreamBatch | None]:
    """Return the micro-batch that has read each record; None: it is not known any more, or not needed."""
    snapshot, after = row.lookup.snapshot, records.after
    assert snapshot is not None, "a table without a snapshot has taken in no record"
    known = list(records.batches.values())
    found: dict[PushedPlace, StreamBatch | None] = {}
    for place in places:
        batch = next((one for one in known if has_read(one, after, place)), None)
        if batch is None and records.newest_version(place) is None:
            batch = find_batch(row.served.table.table, snapshot, after, place)
            known += [] if batch is None else [batch]
        found[place] = batch
    return found


def _selection(places: list[PushedPlace]) -> LetterSelection:
    """Return a selection of dead letters that has those of some records, and of records between them."""
    spans: dict[str, OffsetSpan] = {}
    for place in sorted(places):
        first = spans.get(str(place.partition))
        start = place.offset if first is None else first.start
        spans[str(place.partition)] = OffsetSpan(start=start, end=place.offset + 1)
    return LetterSelection(offsets=spans)
