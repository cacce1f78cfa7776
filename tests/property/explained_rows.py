"""A model of four streams that feed one table: its rows, their status, and what explanations of them have to say.

The model knows records and versions, and nothing of merge machines. Of a group the newest record is the one with the largest
declared value, then offset, then partition. A record without a declared value has no part in its group. What one commit has for
a key is a version, and so is what a compaction of several files has merged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tests.support.fed_table import Message

KEYS: Final = 4
COMPACTED: Final = "unknown: compacted"
VALUE_OF: Final = {"sales": "total", "parcels": "carrier", "payments": "paid", "clicks": "visits"}
ORDERED_BY: Final = {"sales": "version", "payments": "paid_at", "clicks": "seen"}
KEPT: Final = "note"
"""The kept column of `sales`."""
HIGHEST: Final = "highest"
"""The column of `clicks` with the largest value; `visits` has their sum."""
STALE_AFTER_S: Final = {"sales": 4, "parcels": None, "payments": 1, "clicks": 9}
COMPLETE_WHEN: Final = ("sales", "payments")
CLEARS: Final = ("sales", "parcels")
DECLARATION: Final[dict[str, Any]] = {
    "columns": [
        {"name": "id", "type": "INT"},
        *({"name": name, "type": "INT"} for name in ("version", "paid_at", "seen")),
        *({"name": name, "type": "INT"} for name in ("total", "note", "carrier", "paid")),
        {"name": "visits", "type": "BIGINT", "aggregate": {"function": "sum"}},
        {"name": HIGHEST, "type": "INT", "aggregate": {"function": "max"}},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "options": {
        "num-sorted-run.compaction-trigger": "2",
        "compaction.max-size-amplification-percent": "100000",
        "compaction.size-ratio": "0",
    },
    "staleness": {
        "groups": {name: after_s for name, after_s in STALE_AFTER_S.items() if after_s is not None}
    },
    "completeness": {"groups": COMPLETE_WHEN},
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
        {"name": "clicks", "ordering": ["seen"], "columns": ["visits", HIGHEST]},
    ],
    "unordered": "allowed",
}


def stream_of(name: str) -> dict[str, Any]:
    """Return the registration of a stream."""
    definition: dict[str, Any] = {"topic": f"topic-{name}", "sequence_group": name}
    if name in ORDERED_BY:
        definition["on_null_ordering"] = "clear"
    else:
        definition["partitioned_by_key"] = True
    if name in CLEARS:
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
        if self.stream == "clicks":
            value[HIGHEST] = self.value
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
            row[HIGHEST] = max(visits, default=None)
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


def expected_status(records: Sequence[Record], group: str, *, at_ms: int) -> dict[str, Any]:
    """Return what the status of a row says of a group.

    Args:
        records: All records of the row.
        group: The group.
        at_ms: The time at which ages are measured, milliseconds since 1970.
    """
    found, after_s = newest(records, group), STALE_AFTER_S[group]
    ordering: dict[str, Any] = (
        {ORDERED_BY[group]: found and found.declared}
        if group in ORDERED_BY
        else {
            f"{group}__offset": found and found.offset,
            f"{group}__partition": found and found.partition,
        }
    )
    status = {
        "state": "absent",
        "stream": group,
        "ordering": ordering,
        "arrival": None,
        "last_touched": None,
        "age_seconds": None,
        "stale_after_seconds": after_s,
    }
    if found is None:
        return status
    age_s = max(0, at_ms - found.committed_ms) / 1_000
    if found.clears:
        status["state"] = "deleted"
    else:
        status["state"] = "stale" if after_s is not None and age_s > after_s else "present"
    return status | {
        "arrival": place(found),
        "last_touched": time_text(found.committed_ms),
        "age_seconds": age_s,
    }


def is_complete(states: Mapping[str, str], *, exists: bool) -> bool:
    """Return whether a row with these states of its groups is complete."""
    return exists and all(states[group] in ("present", "stale") for group in COMPLETE_WHEN)


def place(record: Record) -> dict[str, int]:
    """Return where a record is in its topic."""
    return {"generation": 0, "partition": record.partition, "offset": record.offset}


def time_text(time_ms: int) -> str:
    """Return a time as ISO 8601 with milliseconds."""
    text = datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
