"""Versions of a row without records of one stream: which of them stay, and what is not known any more. Pure.

| version | without the records |
|---|---|
| of another stream | stays |
| of the stream | is left out, if its record is |
| compacted, or of several streams | stays without the values of the stream's columns |

A column that the stream writes is not known any more if its value may come from both records that are left out and others:

- a version was folded from several records of one commit, of which only some are left out;
- a compacted version has a record that is left out as the newest of its group, and older ones were merged away: those of
  this stream that are not left out, or those of a former stream of the group;
- a compacted version has an aggregated value, or several streams write the column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from braid.lake import KeyVersions, Row, Snapshot, batch_of
from braid.registry.layout.column_functions import column_functions
from braid.registry.layout.stream_columns import stream_columns
from braid.schemas import LeftOutRecords, RecordPlace, TableDocument
from braid.service.control.row_versions import VersionStreams


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What is left of the versions of a row.

    Attributes:
        versions: The versions that stay.
        unknown: Columns whose values without the records are not known.
    """

    versions: KeyVersions
    unknown: frozenset[str]


def without_records(
    versions: KeyVersions,
    values: Sequence[Row],
    *,
    streams: VersionStreams,
    document: TableDocument,
    left_out: LeftOutRecords,
) -> Remaining:
    """Return the versions of a row without records of a stream.

    Args:
        versions: All versions, in merge order.
        values: The values of each.
        streams: The streams of the versions.
        document: The declaration, which has the stream.
        left_out: The records.
    """
    records = _LeftOut(streams=streams, document=document, left_out=left_out)
    kept: list[bool] = []
    cleared: dict[int, frozenset[str]] = {}
    unknown: set[str] = set()
    for number, row in enumerate(values):
        writer = streams.writer_of(versions, number, row)
        if writer is not None and writer != left_out.stream:
            kept.append(True)
        elif writer is not None:
            is_left_out = records.make_up(row, versions.sources[number].snapshot)
            unknown |= records.columns if is_left_out is None else set()
            kept.append(is_left_out is False)
        else:
            lost, uncertain = records.values_in(row)
            cleared[number] = lost
            unknown |= uncertain
            others = row.keys() - lost - set(streams.schema.primary_keys)
            kept.append(any(row[name] is not None for name in others))
    remaining = versions.without_values(cleared).filter(kept)
    return Remaining(versions=remaining, unknown=frozenset(unknown))


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class _LeftOut:
    """The records that are left out, as versions show them."""

    streams: VersionStreams
    document: TableDocument
    left_out: LeftOutRecords

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns outside of the key that the stream writes."""
        written = self._columns_of(self.left_out.stream)
        return written.intersection(self.streams.schema.field_names)

    def make_up(self, row: Row, snapshot: Snapshot | None) -> bool | None:
        """Return whether the records of a version are left out; None: some of them may be.

        Args:
            row: A version that the stream has written.
            snapshot: The snapshot that has written it, if it is known.
        """
        if self._are_all:
            return True
        if all(row[name] is None for name in self.columns):
            # A record without a place in the order makes a row, if there is none, and gives it no value.
            return False
        places = list(self.streams.places_in(row).values())
        arrival = places[0].arrival if len(places) == 1 else None
        if arrival is None:
            return None
        is_newest, batch = self._has(places[0]), None if snapshot is None else batch_of(snapshot)
        if batch is not None and not batch.account.folded:
            return is_newest
        from_offset = self.left_out.from_offset or 0
        if (
            batch is not None
            and self.left_out.partition is None
            and min(batch.start.values()) >= from_offset
        ):
            return True
        # Other records may be folded into it. Older ones than the newest have left no value, but in columns that keep
        # or combine values.
        mixes = self._functions.union(self.streams.kept).intersection(self.columns)
        return None if is_newest or any(row[name] is not None for name in mixes) else False

    def values_in(self, row: Row) -> tuple[frozenset[str], frozenset[str]]:
        """Return the columns that a version of several records loses, and those whose values are not known any more."""
        present = {name for name in self.columns if row[name] is not None}
        if self._are_all:
            uncertain = {name for name in present if self._has_other_sources(name)}
            return frozenset(self.columns - uncertain), frozenset(uncertain)
        return frozenset(), frozenset(name for name in present if self._may_be_lost(name, row))

    @property
    def _are_all(self) -> bool:
        """Whether all records of the stream are left out."""
        return self.left_out.from_offset is None and self.left_out.partition is None

    def _has_other_sources(self, column: str) -> bool:
        """Return whether other streams have written a column of the stream, or may have done so before."""
        group = self.streams.group_of.get(column)
        if group is None:
            return any(column in self._columns_of(name) for name in self._other_streams)
        order = self.streams.orders.get(group.name)
        return order is not None and order.generation > 0

    def _may_be_lost(self, column: str, row: Row) -> bool:
        """Return whether the value of a column may come from a record that is left out."""
        group = self.streams.group_of.get(column)
        if group is None or column in self._functions:
            return True
        kept = self.streams.kept.get(column)
        if kept is not None:
            return self._has(self.streams.place_of_kept(kept, row))
        return self._has(self.streams.place_in(group, row))

    def _has(self, place: RecordPlace) -> bool:
        """Return whether a record is left out; True also for one whose place is not known."""
        if place.arrival is None:
            return True
        if place.stream != self.left_out.stream:
            return False
        partition, offset = self.left_out.partition, self.left_out.from_offset
        return (partition is None or place.arrival.partition == partition) and (
            offset is None or place.arrival.offset >= offset
        )

    def _columns_of(self, stream: str) -> frozenset[str]:
        spec = self.document.streams[stream].spec
        written = stream_columns(self.document.table, spec).written
        return frozenset(written).difference(self.document.table.primary_key)

    @property
    def _other_streams(self) -> list[str]:
        return [name for name in self.document.streams if name != self.left_out.stream]

    @cached_property
    def _functions(self) -> frozenset[str]:
        return frozenset(column_functions(self.document.table))
