"""A table that four streams feed at random, with compactions, tags and expiry, beside the model of its rows."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from braid.lake import ManualClock
from tests.property.explained_rows import (
    CLEARS,
    DECLARATION,
    KEYS,
    ORDERED_BY,
    VALUE_OF,
    Record,
    Version,
    stream_of,
)
from tests.support.fed_table import FedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A state of the table.

    Attributes:
        fields: The field of requests that names it; empty for the newest.
        snapshot_id: Its snapshot.
        at_ms: When ages of its rows are measured, milliseconds since 1970.
    """

    fields: dict[str, Any]
    snapshot_id: int
    at_ms: int

    @property
    def query(self) -> str:
        """The parameter of addresses that names it."""
        return "".join(f"&{name}={value}" for name, value in self.fields.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A commit of records, or a compaction (without records).

    Attributes:
        snapshot_id: The snapshot that it has made.
        committed_ms: When, milliseconds since 1970.
        records: The records; empty for a compaction.
        replaced: Names of the files that it has merged.
        written: Names of the files that it has written.
    """

    snapshot_id: int
    committed_ms: int
    records: tuple[Record, ...]
    replaced: frozenset[str]
    written: frozenset[str]


@dataclass(kw_only=True)
class ExplainedBed:
    """A table with a random history; `chance` decides everything that is left open."""

    chance: random.Random
    steps: list[_Step] = field(default_factory=list)
    tags: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fed = FedTable(
            declaration=DECLARATION,
            streams={name: stream_of(name) for name in VALUE_OF},
            clock=ManualClock(),
        )
        self._claimed_ms = self.fed.clock.now_ms()

    def live(self, steps: int) -> None:
        """Let so many things happen to the table, one after the other."""
        for _ in range(steps):
            self.fed.clock.advance(ms=self.chance.randint(0, 3) * 1_000)
            match self.chance.randrange(16):
                case 0:
                    self._compact(full=True)
                case 1 | 2:
                    self._compact(full=False)
                case 3 | 4:
                    retained = self.chance.randint(1, 6)
                    self.fed.table.expire(retain_max=retained, retain_min=1)
                case 5:
                    name = f"tag-{len(self.tags)}"
                    self.fed.table.create_tag(name)
                    self.tags[name] = self._newest_id()
                case _:
                    self._feed()

    def some_state(self) -> At:
        """Return the newest state, a snapshot that exists, or a tag, whose snapshot may have expired."""
        kind = self.chance.choice(["newest", "tag", "snapshot", "snapshot"])
        if kind == "newest":
            now_ms = self.fed.clock.now_ms()
            return At(fields={}, snapshot_id=self._newest_id(), at_ms=now_ms)
        if kind == "tag" and self.tags:
            name = self.chance.choice(list(self.tags))
            return self._past({"tag": name}, self.tags[name])
        snapshot_id = self.chance.choice(self._snapshot_ids)
        return self._past({"snapshot_id": snapshot_id}, snapshot_id)

    def versions(self, key: int, at: At) -> list[Version]:
        """Return the versions of a key that exist for a state, oldest first."""
        oldest = self._snapshot_ids[0]
        stored: dict[str, tuple[Version, ...]] = {}  # what each file has of the key, oldest first
        for step in self._until(at):
            if step.records:
                of_key = tuple(one for one in step.records if one.key == key)
                is_alone = len(step.records) == 1 and step.snapshot_id >= oldest
                [name] = step.written
                version = Version(records=of_key, is_alone=is_alone)
                stored[name] = (version,) if of_key else ()
            elif step.snapshot_id <= oldest and step.replaced:
                stored = _merged(stored, step)
        return [one for versions in stored.values() for one in versions]

    def records(self, key: int, at: At) -> list[Record]:
        """Return all records of a key that a state has."""
        return [one for step in self._until(at) for one in step.records if one.key == key]

    def arriving(self, key: int, at: At) -> Record:
        """Return a record of a key that arrives after all that a state has."""
        stream = self.chance.choice(list(VALUE_OF))
        record = self._record(stream, key)
        read = sum(
            (one.stream, one.partition) == (stream, record.partition)
            for step in self._until(at)
            for one in step.records
        )
        return replace(record, offset=read, committed_ms=at.at_ms)

    def _until(self, at: At) -> list[_Step]:
        return [step for step in self.steps if step.snapshot_id <= at.snapshot_id]

    def _past(self, fields: dict[str, Any], snapshot_id: int) -> At:
        times = {step.snapshot_id: step.committed_ms for step in self.steps}
        at_ms = times.get(snapshot_id, self._claimed_ms)
        return At(fields=fields, snapshot_id=snapshot_id, at_ms=at_ms)

    def _compact(self, *, full: bool) -> None:
        before, files = self._newest_id(), self._files()
        self.fed.table.compact(full=full)
        if self._newest_id() != before:
            self._note(files)

    def _feed(self) -> None:
        stream = self.chance.choice(list(VALUE_OF))
        count = self.chance.choice([1, 1, 2, 3])
        records = [self._sent(stream) for _ in range(count)]
        files = self._files()
        offsets = self.fed.feed(stream, *(one.message for one in records))
        placed = (replace(one, offset=offset) for one, offset in zip(records, offsets, strict=True))
        self._note(files, records=tuple(placed))

    def _note(self, before: frozenset[str], *, records: tuple[Record, ...] = ()) -> None:
        after = self._files()
        self.steps.append(
            _Step(
                snapshot_id=self._newest_id(),
                committed_ms=self.fed.clock.now_ms(),
                records=records,
                replaced=before - after,
                written=after - before,
            )
        )

    def _sent(self, stream: str) -> Record:
        """Return a new record of a stream, or one that is sent once more."""
        earlier = [one for step in self.steps for one in step.records if one.stream == stream]
        if earlier and self.chance.random() < 0.15:
            now_ms = self.fed.clock.now_ms()
            return replace(self.chance.choice(earlier), committed_ms=now_ms)
        return self._record(stream, self.chance.randrange(KEYS))

    def _record(self, stream: str, key: int) -> Record:
        chance = self.chance
        clears = stream in CLEARS and chance.random() < 0.2
        # A delete has a place in the order: one without is left out.
        declared = chance.choice([1, 2, 3] if clears else [None, 1, 2, 3])
        return Record(
            stream=stream,
            key=key,
            partition=chance.randrange(2) if stream in ORDERED_BY else key % 2,
            offset=-1,
            declared=declared if stream in ORDERED_BY else None,
            value=chance.choice([None, 1, 2, 3, 4]),
            kept=chance.choice([None, 5, 6]),
            has_kept=stream == "sales" and chance.random() < 0.5,
            clears=clears,
            committed_ms=self.fed.clock.now_ms(),
        )

    @property
    def _snapshot_ids(self) -> Sequence[int]:
        """The snapshots that exist, oldest first."""
        ids: list[int] = self.fed.table.inspect.snapshots().column("snapshot_id").to_pylist()
        return sorted(ids)

    def _files(self) -> frozenset[str]:
        return frozenset(self.fed.table.inspect.files().column("file_name").to_pylist())

    def _newest_id(self) -> int:
        snapshot = self.fed.table.latest_snapshot()
        assert snapshot is not None
        return snapshot.id


def _merged(
    stored: dict[str, tuple[Version, ...]], compaction: _Step
) -> dict[str, tuple[Version, ...]]:
    """Return what files have of a key after a compaction, which merges files that follow one another."""
    names = list(stored)
    first = min(names.index(name) for name in compaction.replaced)
    last = max(names.index(name) for name in compaction.replaced)
    assert set(names[first : last + 1]) == compaction.replaced, "files between them stay older"
    [written] = compaction.written
    records = tuple(
        record
        for name in names[first : last + 1]
        for version in stored[name]
        for record in version.records
    )
    merged = (Version(records=records, is_compacted=True),) if records else ()
    return {
        **{name: stored[name] for name in names[:first]},
        written: merged,
        **{name: stored[name] for name in names[last + 1 :]},
    }
