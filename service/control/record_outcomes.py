"""Outcomes of pushed records in a row: whether each has won, lost, went into aggregated values, or is a dead letter. Pure.

A record is found among the versions of its row by its arrival, or by the micro-batch that has read it:

| versions | outcome |
|---|---|
| one has the record as the newest of its group | column by column, the reason of this version |
| one is of the record's micro-batch, with a newer record of the group | the record was folded into it: it has lost, or is aggregated |
| none is of the record's micro-batch | a dead letter, ignored, or merged by a compaction whose inputs are gone |

A column whose value has the record's arrival is won, whatever the version: a compacted one has it, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from braid.lake import KeyExplanation, Reason, StreamBatch, batch_of
from braid.registry.layout.column_functions import column_functions
from braid.registry.layout.physical_table import PhysicalGroup
from braid.registry.layout.stream_columns import stream_columns
from braid.registry.stream_entries import entry_of
from braid.schemas import Arrival, ListedLetter, TableDocument, Winner
from braid.schemas.record_outcome import ColumnsOutcome, PushedRecordOutcome, RecordOutcome
from braid.service.control.read_after import PushedPlace, ReadAfter
from braid.service.control.record_batches import has_read
from braid.service.control.row_explanation import record_place, winner_of
from braid.service.control.row_versions import VersionStreams, takes_part

FOLDED: Final = "folded"
COMPACTED: Final = Reason.COMPACTED.value
LETTERS: Final = "unknown: dead letters"
"""The reason of a record that may be a dead letter, while no runner lists them."""
MICRO_BATCH: Final = "unknown: micro-batch"
"""The reason of a record whose micro-batch has merged or left out records, and does not tell which."""

_STANDINGS_OTHER: Final = ("replayed", "not_committed", "read_again")
"""Standings of letters whose records were written after all, or by another attempt."""

_OUTCOMES: Final = (
    RecordOutcome.WON,
    RecordOutcome.AGGREGATED,
    RecordOutcome.UNKNOWN,
    RecordOutcome.LOST,
)
"""The outcome of a record is the first of these that some of its columns have."""

_OfColumn = tuple[RecordOutcome, str, Winner | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letters:
    """What is known of dead letters.

    Attributes:
        by_place: The letters that are known, by the places of their records.
        are_read: Whether all letters of the records in question are known.
    """

    by_place: Mapping[PushedPlace, ListedLetter]
    are_read: bool


def letters_of(listed: Sequence[ListedLetter], after: ReadAfter, *, are_all: bool) -> Letters:
    """Return the letters of pushed records among those that a runner has listed."""
    found = {
        PushedPlace(one.partition, one.offset): one
        for one in listed
        if one.topic_id == after.topic_id and one.standing not in _STANDINGS_OTHER
    }
    return Letters(by_place=found, are_read=are_all)


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class RowRecords:
    """Pushed records of a row among its versions.

    Attributes:
        found: The explanation of the row.
        streams: The streams of the versions.
        document: The declaration, which has the stream.
        after: The records.
    """

    found: KeyExplanation
    streams: VersionStreams
    document: TableDocument
    after: ReadAfter

    def may_be_letter(self, place: PushedPlace, batch: StreamBatch | None) -> bool:
        """Return whether a record may be a dead letter.

        Args:
            place: The record.
            batch: The micro-batch that has read it; None: it is not known any more.
        """
        if self.newest_version(place) is not None:
            return False
        return batch is None or batch.account.dead_lettered > 0

    def outcome(
        self, place: PushedPlace, batch: StreamBatch | None, letters: Letters
    ) -> PushedRecordOutcome:
        """Return what has become of a record; `batch` as for `may_be_letter`."""
        version = self.newest_version(place)
        if version is not None:
            return self._merged(place, self._columns(place, version))
        letter = letters.by_place.get(place)
        if letter is not None:
            return _answer(place, RecordOutcome.DEAD_LETTER, letter.reason, letter.message)
        if self._is_letter(batch):
            assert batch is not None, "a micro-batch that is known has dead letters alone"
            reasons = list(batch.dead_letters)
            reason = reasons[0] if len(reasons) == 1 else None
            return _answer(place, RecordOutcome.DEAD_LETTER, reason)
        if self.may_be_letter(place, batch) and not letters.are_read:
            return _answer(place, RecordOutcome.UNKNOWN, LETTERS)
        own = self.own_versions(place)
        if not own or batch is None:
            won = self._merged(place, self._columns(place, None))
            if won.outcome is RecordOutcome.WON:
                return won
            if batch is not None and self._is_left_out(batch):
                return _answer(place, RecordOutcome.IGNORED)
            return _answer(place, RecordOutcome.UNKNOWN, COMPACTED)
        if batch.account.ignored:
            if self.group is not None and not batch.account.folded:
                return _answer(place, RecordOutcome.IGNORED)
            return _answer(place, RecordOutcome.UNKNOWN, MICRO_BATCH)
        return self._merged(place, self._columns(place, own[-1], is_folded=True))

    def newest_version(self, place: PushedPlace) -> int | None:
        """Return the version that has a record as the newest of its group, or that is of the record alone; None: there is none."""
        own = self.own_versions(place)
        if self.group is None:
            return own[0] if len(own) == 1 and self._is_alone(place, own[0]) else None
        for number in reversed(range(len(self.found.values))):
            if self._is(place, self._arrivals.get(number), number):
                return number
        # A record without a place in the order has none in its version either.
        has_place = any(number in self._arrivals for number in own)
        return own[-1] if own and not has_place else None

    def own_versions(self, place: PushedPlace) -> list[int]:
        """Return the versions that the micro-batch of a record has written, oldest first."""
        return [
            number for number, batch in self.batches.items() if has_read(batch, self.after, place)
        ]

    @cached_property
    def batches(self) -> Mapping[int, StreamBatch]:
        """The micro-batches that have written versions, as far as they are known, by the number of the version."""
        found = {}
        for number, source in enumerate(self.found.versions.sources):
            snapshot = None if source.is_compacted else source.snapshot
            batch = None if snapshot is None else batch_of(snapshot)
            if batch is not None:
                found[number] = batch
        return found

    @cached_property
    def group(self) -> PhysicalGroup | None:
        """The sequence group of the stream; None: it writes into none."""
        named = entry_of(self.document, self.after.stream).spec.sequence_group
        return next((group for group in self.streams.groups if group.name == named), None)

    @cached_property
    def _arrivals(self) -> Mapping[int, Arrival | None]:
        """The arrival of the newest record of the stream's group, by the number of each version that has one."""
        group = self.group
        assert group is not None, "only groups have arrivals"
        return {
            number: self.streams.place_in(group, values).arrival
            for number, values in enumerate(self.found.values)
            if takes_part(group, values)
        }

    @cached_property
    def _written(self) -> Sequence[str]:
        """The columns outside of the key that the stream fills from records, in the table's order."""
        spec = entry_of(self.document, self.after.stream).spec
        mapped = {one.column for one in stream_columns(self.document.table, spec).mapped}
        mapped.difference_update(self.streams.schema.primary_keys)
        return [name for name in self.streams.schema.field_names if name in mapped]

    @cached_property
    def _functions(self) -> frozenset[str]:
        """The columns with aggregate functions, whose values are not those of the newest record."""
        return frozenset(column_functions(self.document.table))

    def _columns(
        self, place: PushedPlace, version: int | None, *, is_folded: bool = False
    ) -> Iterator[tuple[str, _OfColumn]]:
        """Yield the outcome of each column in which a record has a part.

        Args:
            place: The record.
            version: The version that has it; None: it is not known, and only columns that it has won are.
            is_folded: Whether the version has a newer record of the group, too.
        """
        for name in self._written:
            why = self.found.columns.get(name)
            if why is None:
                continue
            if why.winner is not None and self._gives(place, name, why.winner):
                found: tuple[RecordOutcome, str] | None = (
                    RecordOutcome.WON,
                    why.reasons[why.winner],
                )
            else:
                found = self._not_won(place, name, version, is_folded=is_folded)
            if found is not None:
                outcome, reason = found
                yield name, (outcome, str(reason), winner_of(name, self.found, self.streams))

    def _not_won(
        self, place: PushedPlace, column: str, version: int | None, *, is_folded: bool
    ) -> tuple[RecordOutcome, str] | None:
        """Return the outcome of a column whose value is not known to be that of a record; None: the record has no part in it."""
        why = self.found.columns[column]
        reason = None if version is None else why.reasons.get(version)
        if version is None or reason in (None, Reason.NULL_SKIPPED, Reason.IGNORED):
            return None
        assert reason is not None, "checked above"
        if column in self.streams.kept and (is_folded or not self._gives(place, column, version)):
            return None  # it has left the column out; of a folded record that is not known
        if reason is Reason.AGGREGATED:
            return RecordOutcome.AGGREGATED, reason
        if why.winner is None and reason is Reason.COMPACTED:
            return RecordOutcome.UNKNOWN, reason
        if self._mixes_records(column) and why.winner in (version, *self.own_versions(place)):
            is_compacted = reason is Reason.COMPACTED
            return RecordOutcome.UNKNOWN, COMPACTED if is_compacted else MICRO_BATCH
        return RecordOutcome.LOST, FOLDED if is_folded else reason

    def _gives(self, place: PushedPlace, column: str, number: int) -> bool:
        """Return whether the value that a version has of a column is that of a record."""
        if self._mixes_records(column):
            return self._is_alone(place, number)
        arrival = record_place(column, number, self.found, self.streams).arrival
        return self._is(place, arrival, number)

    def _mixes_records(self, column: str) -> bool:
        """Return whether a version's value of a column may be of other records than the newest one of the stream's group."""
        group = self.streams.group_of.get(column)
        return column in self._functions or group is None or group != self.group

    def _is_alone(self, place: PushedPlace, number: int) -> bool:
        """Return whether a version is of one record alone; False also where it is not known."""
        batch = self.batches.get(number)
        if batch is None or batch.account.folded or not has_read(batch, self.after, place):
            return False
        if self.group is not None and number in self._arrivals:
            return self._is(place, self._arrivals[number], number)
        # Which of the micro-batch's records it is shows only if all of them have become rows.
        are_rows = not (batch.account.ignored or batch.account.dead_lettered)
        return are_rows and len(self.own_versions(place)) == 1

    def _is(self, place: PushedPlace, arrival: Arrival | None, number: int) -> bool:
        """Return whether the arrival that a version has is that of a record."""
        if arrival is None or (arrival.partition, arrival.offset) != (
            place.partition,
            place.offset,
        ):
            return False
        batch = self.batches.get(number)
        if batch is not None:
            return has_read(batch, self.after, place)
        # Another topic that has fed the group has the same offsets, in another generation.
        assert self.group is not None, "only groups have arrivals"
        order = self.streams.orders.get(self.group.name)
        return (
            order is not None
            and (order.stream, order.topic_id) == (self.after.stream, self.after.topic_id)
            and order.generation == arrival.generation
        )

    def _is_left_out(self, batch: StreamBatch) -> bool:
        """Return whether a record that has no version was ignored; else a compaction may have merged it."""
        is_compacted = any(source.is_compacted for source in self.found.versions.sources)
        return batch.account.ignored > 0 and not (is_compacted and batch.account.accepted)

    @staticmethod
    def _is_letter(batch: StreamBatch | None) -> bool:
        """Return whether all records of a micro-batch are dead letters."""
        return batch is not None and batch.account.dead_lettered == batch.account.records > 0

    def _merged(
        self, place: PushedPlace, columns: Iterator[tuple[str, _OfColumn]]
    ) -> PushedRecordOutcome:
        """Return the outcome of a record by the outcomes of its columns, which are put together where they are equal."""
        by_outcome: dict[str, tuple[_OfColumn, list[str]]] = {}
        for name, found in columns:
            outcome, reason, winner = found
            same = f"{outcome} {reason} {winner!r}"
            by_outcome.setdefault(same, (found, []))[1].append(name)
        groups = tuple(
            ColumnsOutcome(columns=tuple(names), outcome=outcome, reason=reason, winner=winner)
            for (outcome, reason, winner), names in by_outcome.values()
        )
        present = {group.outcome for group in groups}
        outcome = next((one for one in _OUTCOMES if one in present), RecordOutcome.IGNORED)
        reasons = {group.reason for group in groups if group.outcome is outcome}
        return PushedRecordOutcome(
            partition=place.partition,
            offset=place.offset,
            outcome=outcome,
            reason=reasons.pop() if len(reasons) == 1 else None,
            columns=groups,
        )


def _answer(
    place: PushedPlace,
    outcome: RecordOutcome,
    reason: str | None = None,
    message: str | None = None,
) -> PushedRecordOutcome:
    return PushedRecordOutcome(
        partition=place.partition,
        offset=place.offset,
        outcome=outcome,
        reason=reason,
        message=message,
    )
