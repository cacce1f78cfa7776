"""Four streams that feed one table at random, with compactions and expiry, and what explanations of its rows have to say.

The model knows records, commits, compactions and expiry, and nothing of merge machines. Of a group the newest record is the
one with the largest declared value, then offset, then partition. A record without a declared value has no part in its group.
What one commit has for a key is a version, and so is what a compaction of several files has merged, unless the snapshots before
the compaction exist.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from braid.lake import ManualClock
from tests.support.fed_table import FedTable, Message

KEYS: Final = 4
COMPACTED: Final = "unknown: compacted"
VALUE_OF: Final = {"sales": "total", "parcels": "carrier", "payments": "paid", "clicks": "visits"}
ORDERED_BY: Final = {"sales": "version", "payments": "paid_at", "clicks": "seen"}
KEPT: Final = "note"
"""The kept column of `sales`."""
_CLEARS: Final = ("sales", "parcels")
_DECLARATION: Final[dict[str, Any]] = {
    "columns": [
        {"name": "id", "type": "INT"},
        *({"name": name, "type": "INT"} for name in ("version", "paid_at", "seen")),
        *({"name": name, "type": "INT"} for name in ("total", "note", "carrier", "paid")),
        {"name": "visits", "type": "BIGINT", "aggregate": {"function": "sum"}},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "sequence_groups": [
        {
            "name": "sales",
            "ordering": ["version"],
            "columns": ["total", "note"],
            "keep": ["note"],
            "deletes": "clear_columns",
        },
        {"name": "parcels", "columns": ["carrier"], "deletes": "clear_columns"},
        {"name": "payments", "ordering": ["paid_at"], "columns": ["paid"]},
        {"name": "clicks", "ordering": ["seen"], "columns": ["visits"]},
    ],
    "unordered": "allowed",
}


def _stream(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = {"topic": f"topic-{name}", "sequence_group": name}
    if name in ORDERED_BY:
        definition["on_null_ordering"] = "clear"
    else:
        definition["partitioned_by_key"] = True
    if name in _CLEARS:
        definition["delete_when"] = "op = 'd'"
    return definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of a topic.

    Attributes:
        declared: The value of the group's ordering column; None: it is null, or there is none.
        value: The value for the group's column; None: null.
        kept: The value for the kept column; None: null.
        has_kept: Whether it has a field for the kept column.
        clears: Whether it is a delete, which clears the group.
        committed_ms: When it was committed, which is its timestamp.
    """

    stream: str
    key: int
    partition: int
    offset: int
    declared: int | None
    value: int | None
    kept: int | None
    has_kept: bool
    clears: bool
    committed_ms: int

    @property
    def order(self) -> tuple[int, int, int] | None:
        """Its place in the order of its group; None: it has none."""
        if self.stream not in ORDERED_BY:
            return (0, self.offset, self.partition)
        return None if self.declared is None else (self.declared, self.offset, self.partition)

    @property
    def message(self) -> Message:
        """The record as it is produced."""
        value: dict[str, Any] = {"id": self.key, VALUE_OF[self.stream]: self.value}
        if self.stream in ORDERED_BY:
            value[ORDERED_BY[self.stream]] = self.declared
        if self.has_kept:
            value[KEPT] = self.kept
        if self.clears:
            value["op"] = "d"
        return Message(value=value, partition=self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What is stored of some records of one key.

    Attributes:
        records: All of them.
        is_compacted: Whether a compaction has written it.
        is_alone: Whether it is known that its commit had no other record, of any key.
    """

    records: tuple[Record, ...]
    is_compacted: bool = False
    is_alone: bool = False

    def newest(self, group: str, *, of_kept: bool = False) -> Record | None:
        """Return the newest record of a group; `of_kept`: of those that set the kept column."""
        return newest(self.records, group, of_kept=of_kept)


def newest(records: Iterable[Record], group: str, *, of_kept: bool = False) -> Record | None:
    """Return the record with the largest place in the order of a group; None: no record has one."""
    placed = [
        (one.order, one)
        for one in records
        if one.stream == group
        and one.order is not None
        and (not of_kept or one.has_kept or one.clears)
    ]
    return max(placed, key=lambda pair: pair[0])[1] if placed else None


def row_of(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the values of the row that records make; None: there is no row."""
    if not records:
        return None
    row: dict[str, Any] = {}
    for group, column in VALUE_OF.items():
        if group == "clicks":
            visits = [
                one.value
                for one in records
                if one.stream == group and one.order is not None and one.value is not None
            ]
            row[column] = sum(visits) if visits else None
            continue
        found = newest(records, group)
        row[column] = None if found is None or found.clears else found.value
    kept = newest(records, "sales", of_kept=True)
    row[KEPT] = None if kept is None or kept.clears else kept.kept
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What an explanation says of one column.

    Attributes:
        winner: The version and the record that give the value; None: none does.
        reasons: By version, the winner's included.
    """

    winner: tuple[int, Record] | None
    reasons: dict[int, str]


def expected_column(versions: Sequence[Version], group: str, *, of_kept: bool = False) -> Expected:
    """Return what the explanation of a group's column, or of the kept column, has to say."""
    reasons: dict[int, str] = {}
    best: tuple[int, Record] | None = None
    takes_part: list[int] = []
    for number, version in enumerate(versions):
        found = version.newest(group, of_kept=of_kept)
        if found is None:
            reasons[number] = "kept" if version.newest(group) is not None else "null-skipped"
            continue
        takes_part.append(number)
        assert found.order is not None
        if best is None or found.order > (best[1].order or ()):
            if best is not None:
                reasons[best[0]] = "newer-sequence"
            best = number, found
            reasons[number] = "newer-sequence"
        else:
            reasons[number] = "late"
    if best is not None and len(takes_part) == 1:
        reasons[best[0]] = "only-version"
    reasons |= {number: COMPACTED for number in takes_part if versions[number].is_compacted}
    return Expected(winner=best, reasons=reasons)


def expected_sum(versions: Sequence[Version]) -> Expected:
    """Return what the explanation of the aggregated column has to say."""
    reasons: dict[int, str] = {}
    alone: Record | None = None
    for number, version in enumerate(versions):
        found = version.newest("clicks")
        row = row_of(version.records)
        assert row is not None
        if found is None or row["visits"] is None:
            reasons[number] = "null-skipped"
        else:
            reasons[number] = COMPACTED if version.is_compacted else "aggregated"
            alone = found
    if len(versions) == 1 and alone is not None:
        return Expected(
            winner=(0, alone),
            reasons={0: COMPACTED if versions[0].is_compacted else "only-version"},
        )
    return Expected(winner=None, reasons=reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A commit of records, or a compaction (without records), by the snapshot that it has made."""

    snapshot_id: int
    records: tuple[Record, ...]


@dataclass(kw_only=True)
class ExplainedBed:
    """A table with a random history; `chance` decides everything that is left open."""

    chance: random.Random
    steps: list[_Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fed = FedTable(
            declaration=_DECLARATION,
            streams={name: _stream(name) for name in VALUE_OF},
            clock=ManualClock(),
        )

    def live(self, steps: int) -> None:
        """Let so many things happen to the table, one after the other."""
        for _ in range(steps):
            self.fed.clock.advance(ms=self.chance.randint(0, 3) * 1_000)
            match self.chance.randrange(12):
                case 0 | 1:
                    self._compact()
                case 2:
                    retained = self.chance.randint(1, 6)
                    self.fed.table.expire(retain_max=retained, retain_min=1)
                case _:
                    self._feed()

    @property
    def snapshot_ids(self) -> list[int]:
        """The snapshots that exist."""
        ids: list[int] = self.fed.table.inspect.snapshots().column("snapshot_id").to_pylist()
        return sorted(ids)

    def versions(self, key: int, snapshot_id: int) -> list[Version]:
        """Return the versions of a key that exist for a snapshot, oldest first."""
        oldest = self.snapshot_ids[0]
        stored: list[tuple[Version, ...]] = []  # what each file has of the key
        for step in self.steps:
            if step.snapshot_id > snapshot_id:
                break
            if step.records:
                of_key = tuple(one for one in step.records if one.key == key)
                is_alone = len(step.records) == 1 and step.snapshot_id >= oldest
                version = Version(records=of_key, is_alone=is_alone)
                stored.append((version,) if of_key else ())
            elif step.snapshot_id <= oldest and len(stored) > 1:
                # A single file is moved to another level, and not written again.
                merged = tuple(one for file in stored for one in file)
                records = tuple(record for one in merged for record in one.records)
                stored = [(Version(records=records, is_compacted=True),) if records else ()]
        return [one for file in stored for one in file]

    def records(self, key: int, snapshot_id: int) -> list[Record]:
        """Return all records of a key that a snapshot has."""
        return [
            record
            for step in self.steps
            if step.snapshot_id <= snapshot_id
            for record in step.records
            if record.key == key
        ]

    def _compact(self) -> None:
        before = self._newest_id()
        self.fed.table.compact(full=True)
        if self._newest_id() != before:
            self.steps.append(_Step(snapshot_id=self._newest_id(), records=()))

    def _feed(self) -> None:
        stream = self.chance.choice(list(VALUE_OF))
        records = [self._record(stream) for _ in range(self.chance.choice([1, 1, 2, 3]))]
        offsets = self.fed.feed(stream, *(one.message for one in records))
        placed = tuple(
            replace(one, offset=offset) for one, offset in zip(records, offsets, strict=True)
        )
        self.steps.append(_Step(snapshot_id=self._newest_id(), records=placed))

    def _record(self, stream: str) -> Record:
        chance = self.chance
        key = chance.randrange(KEYS)
        clears = stream in _CLEARS and chance.random() < 0.2
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

    def _newest_id(self) -> int:
        snapshot = self.fed.table.latest_snapshot()
        assert snapshot is not None
        return snapshot.id
