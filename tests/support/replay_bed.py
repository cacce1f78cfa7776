"""Bed of replays: a table in memory, a stream that fills it, and its dead letters as their topic would have them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from braid.formats.dead_letter import DeadLetter, parse_dead_letter
from braid.lake import (
    BatchAccount,
    Catalog,
    LetterAttempt,
    MemoryFileIO,
    StreamBatch,
    StreamPosition,
    Table,
)
from braid.pipelines.replay.letter_topic import TopicLetter
from braid.pipelines.replay.replay_run import ReplayRun, ReplayTarget
from braid.pipelines.sink.dead_letters import LetterOrigin, dead_letters
from braid.records.accepted_rows import accepted_rows, write_rows
from braid.records.record_columns import OFFSET
from braid.records.record_reader import RecordReader
from braid.records.stream_plan import StreamPlan
from braid.registry.rules.replay_rules import counts_repetitions
from braid.schemas import LetterSelection, ReplayResult, TableSpec
from tests.unit.records.given_streams import (
    IDENTIFIER,
    WAREHOUSE,
    given_plan,
    given_records,
    given_table,
)

TOPIC_ID = "topic-id-1"


@dataclass
class GivenLetters:
    """A dead-letter topic of one partition, whose messages are bytes and headers."""

    messages: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = field(
        default_factory=list
    )
    per_poll: int = 2

    def send(self, letters: Sequence[DeadLetter], *, connector: str) -> None:
        self.messages += [
            (one.key, one.value, one.all_headers(connector=connector)) for one in letters
        ]

    def bounds(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Return the bounds (see `LetterSource`)."""
        return {0: 0}, {0: len(self.messages)}

    def read(
        self, start: Mapping[int, int], end: Mapping[int, int]
    ) -> Iterator[tuple[list[TopicLetter], Mapping[int, int]]]:
        """Yield the letters (see `LetterSource`)."""
        for first in range(start[0], end[0], self.per_poll):
            found = []
            last = min(first + self.per_poll, end[0])
            for offset in range(first, last):
                key, value, headers = self.messages[offset]
                parsed = parse_dead_letter(key=key, value=value, headers=[*headers])
                if parsed is not None:
                    letter, connector = parsed
                    found.append(
                        TopicLetter(
                            letter=letter,
                            connector=connector,
                            partition=0,
                            offset=offset,
                            sent_ms=1_000 + offset,
                        )
                    )
            yield found, {0: last}


class ReplayBed:
    """One stream `s` of the topic `topic`, with partitions that grow as records are ingested."""

    def __init__(self, spec: TableSpec, **stream: Any) -> None:
        self.spec = spec
        self.file_io = MemoryFileIO()
        self.table = given_table(spec, file_io=self.file_io)
        self.plan = given_plan(spec, **stream)
        self.letters = GivenLetters()
        self.attempt = 0
        self._batch_id = 0
        self.claim()

    def opened(self) -> Table:
        """The table, opened anew."""
        return Catalog(WAREHOUSE, file_io=self.file_io).table(IDENTIFIER)

    def claim(self, topic: str = "topic", *, former_epoch: int | None = None) -> None:
        """Claim the stream, as a restart does; with a former epoch, as the start of a stream registered anew does."""
        self.table.committer().claim_stream(
            "s",
            topic=topic,
            topic_id=TOPIC_ID,
            initial_offsets={0: 0, 1: 0, 2: 0},
            former_epoch=former_epoch,
        )
        self._batch_id = 0

    @property
    def position(self) -> StreamPosition:
        """The stream's position in the newest snapshot."""
        return self.opened().committer().stream_positions()["s"]

    def ingest(
        self,
        messages: Sequence[Mapping[str, Any] | bytes | None],
        *,
        partition: int = 0,
        plan: StreamPlan | None = None,
        is_committed: bool = True,
    ) -> None:
        """Write one micro-batch of a partition as a stream does.

        Args:
            messages: Its records.
            partition: The partition.
            plan: The plan to write by; None: that of the stream.
            is_committed: Whether the batch is committed after its dead letters were sent.
        """
        plan = plan or self.plan
        position = self.position
        first = position.offsets[partition]
        records = _moved(given_records(messages, partition=partition), first)
        table = self.opened()
        found = RecordReader(plan, table.schema).read(records)
        rows = found.faults.rows
        letters = dead_letters(
            found.records.take(pa.array(rows, pa.int64())),
            [found.faults[row] for row in rows],
            origin=LetterOrigin(
                topic="topic",
                topic_id=TOPIC_ID,
                generation=position.generation,
                attempt=LetterAttempt(
                    epoch=position.epoch, batch_id=self._batch_id, attempt=self.attempt
                ),
            ),
        )
        self.letters.send(letters, connector=plan.connector)
        if not is_committed:
            return
        committer = table.committer()
        writer = table.writer(first_sequence_number=committer.max_sequence_number() + 1)
        is_accepted = ~found.faults.is_faulty
        if np.any(is_accepted):
            write_rows(
                writer, accepted_rows(found, is_accepted, plan, generation=position.generation)
            )
        result = writer.prepare_commit()
        reasons: dict[str, int] = {}
        for letter in letters:
            reasons[letter.reason.value] = reasons.get(letter.reason.value, 0) + 1
        committer.commit_stream_batch(
            result.messages,
            StreamBatch(
                stream="s",
                epoch=position.epoch,
                batch_id=self._batch_id,
                topic="topic",
                topic_id=TOPIC_ID,
                start={partition: first},
                end={partition: first + len(messages)},
                account=BatchAccount(
                    accepted=result.rows_accepted,
                    folded=result.rows_folded,
                    ignored=found.left_out,
                    dead_lettered=len(letters),
                ),
                dead_letters=reasons,
                attempt=self.attempt,
            ),
            max_sequence_number=result.max_sequence_number,
        )
        self._batch_id += 1
        self.attempt = 0

    def replay(
        self, plan: StreamPlan | None = None, *, chunk_letters: int = 5_000, **selection: Any
    ) -> ReplayResult:
        """Replay by a mended plan."""
        run = ReplayRun(
            LetterSelection.model_validate(selection),
            source=self.letters,
            targets=GivenTarget(self, plan or self.plan),
            chunk_letters=chunk_letters,
        )
        return run.run(finished_ms=lambda: 7)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, by key."""
        found: list[dict[str, Any]] = self.opened().scan().to_arrow().sort_by("id").to_pylist()
        return found


@dataclass
class GivenTarget:
    """The present declaration of a bed; fails after some reads, as a process that is killed."""

    bed: ReplayBed
    plan: StreamPlan
    reads_max: int = 1_000_000

    def target(self) -> ReplayTarget:
        """Return it (see `TargetSource`)."""
        self.reads_max -= 1
        if self.reads_max < 0:
            raise KeyboardInterrupt
        table = self.bed.opened()
        return ReplayTarget(
            plan=replace(self.plan, schema_id=table.schema.id),
            table=table,
            counts_repetitions=counts_repetitions(self.bed.spec, self.plan.spec),
        )


def _moved(records: pa.RecordBatch, first: int) -> pa.RecordBatch:
    place = records.schema.get_field_index(OFFSET)
    offsets = pa.array(range(first, first + records.num_rows), pa.int64())
    return records.set_column(place, OFFSET, offsets)
