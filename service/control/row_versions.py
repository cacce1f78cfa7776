"""Versions of a row with the streams that have written them, and the records of topics that they come from.

The snapshot that has written a version names the stream. Where it has expired, and in versions that a compaction has
merged, the arrival columns of each group that the version takes part in have the generation, and the snapshot that was read
tells which stream and topic a generation belongs to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from braid.formats.json_values import json_value
from braid.lake import (
    DataField,
    GroupOrder,
    KeyVersions,
    Row,
    Snapshot,
    TableSchema,
    orders_of,
    split_backfill_name,
    split_offset,
    trailing_integers,
)
from braid.registry.layout.physical_table import (
    KeptColumn,
    PhysicalGroup,
    physical_groups,
    shown_fields,
)
from braid.schemas import Arrival, RecordPlace, TableDocument


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class VersionStreams:
    """The streams of the versions of one table.

    Attributes:
        document: The declaration; None: the table is not registered, and nothing is known of streams.
        schema: The schema under which versions are read.
        snapshot: The snapshot that was read; None: the table has none.
    """

    document: TableDocument | None
    schema: TableSchema
    snapshot: Snapshot | None

    @cached_property
    def groups(self) -> tuple[PhysicalGroup, ...]:
        """The sequence groups whose order the schema has, in the order of the declaration."""
        if self.document is None:
            return ()
        return tuple(
            group
            for group in physical_groups(self.document.table)
            if any(name in self.schema.fields_by_name for name in group.ordering)
        )

    @cached_property
    def shown_fields(self) -> tuple[DataField, ...]:
        """The columns of answers."""
        return shown_fields(self.schema)

    @cached_property
    def group_of(self) -> Mapping[str, PhysicalGroup]:
        """The group of each column that is in one, generated columns included."""
        return {
            name: group
            for group in self.groups
            for name in (*group.ordering, *group.protected_columns, *_kept_names(group))
        }

    @cached_property
    def kept(self) -> Mapping[str, KeptColumn]:
        """The kept columns by name."""
        return {kept.name: kept for group in self.groups for kept in group.kept_columns}

    @cached_property
    def orders(self) -> Mapping[str, GroupOrder]:
        """The order of each group in the newest generation, as far as a stream was claimed."""
        return {} if self.snapshot is None else orders_of(self.snapshot)

    def writer_of(self, versions: KeyVersions, number: int, values: Row) -> str | None:
        """Return the stream that has written a version; None: it is not known, or a compaction has merged several."""
        source = versions.sources[number]
        if source.is_compacted:
            return None
        if source.snapshot is not None:
            user = source.snapshot.commit_user
            backfill = split_backfill_name(user)
            stream = user if backfill is None else backfill[0]
            if self.document is not None and stream in self.document.streams:
                return stream
        streams = {place.stream for place in self.places_in(values).values()}
        return streams.pop() if len(streams) == 1 else None

    def places_in(self, values: Row) -> dict[str, RecordPlace]:
        """Return by group the newest record of each group that a version takes part in."""
        return {
            group.name: self.place_in(group, values)
            for group in self.groups
            if takes_part(group, values)
        }

    def place_in(self, group: PhysicalGroup, values: Row) -> RecordPlace:
        """Return the newest record of a group that a version has."""
        arrival = _arrival(values.get(group.offset_column), values.get(group.partition_column))
        stream, topic = self._source_of(group, arrival)
        return RecordPlace(
            stream=stream,
            topic=topic,
            arrival=arrival,
            ordering=self._ordering(group, values),
            arrived_at=self._json(group.at_column, values),
        )

    def place_of_kept(self, kept: KeptColumn, values: Row) -> RecordPlace:
        """Return the record that a version has the value of a kept column from, which may not be the group's newest."""
        group = self.group_of[kept.name]
        order = values.get(kept.order_column)
        offset, partition = (
            trailing_integers(order, 2) if isinstance(order, bytes) else (None, None)
        )
        arrival = _arrival(offset, partition)
        whole = self.place_in(group, values)
        if arrival == whole.arrival:
            return whole
        stream, topic = self._source_of(group, arrival)
        # The version has these of the group's newest record alone.
        return RecordPlace(
            stream=stream, topic=topic, arrival=arrival, ordering={}, arrived_at=None
        )

    def _source_of(
        self, group: PhysicalGroup, arrival: Arrival | None
    ) -> tuple[str | None, str | None]:
        """Return the stream and the topic of a record of a group, as far as they are known."""
        order = self.orders.get(group.name)
        owner = None if self.document is None else owner_of(self.document, group.name)
        if order is None:
            # No stream was claimed since every group has an order: the records are the owner's.
            spec = self.document and owner and self.document.streams[owner].spec
            return owner, spec.topic if spec else None
        if arrival is not None and arrival.generation == order.generation:
            return order.stream, order.topic
        return (owner, None) if arrival is not None and arrival.generation < 0 else (None, None)

    def _ordering(self, group: PhysicalGroup, values: Row) -> dict[str, Any]:
        names = group.declared_ordering or group.ordering
        return {name: self._json(name, values) for name in names}

    def _json(self, column: str | None, values: Row) -> Any:
        field = None if column is None else self.schema.fields_by_name.get(column)
        return None if field is None else json_value(values.get(field.name), field.type)


def owner_of(document: TableDocument, group: str) -> str | None:
    """Return the stream that owns a group now; None: there is none."""
    owners = (
        name for name, entry in document.streams.items() if entry.spec.sequence_group == group
    )
    return next(owners, None)


def takes_part(group: PhysicalGroup, values: Row) -> bool:
    """Return whether a version has a record of a group."""
    return any(values.get(name) is not None for name in group.ordering)


def _arrival(stored: object, partition: object) -> Arrival | None:
    if not isinstance(stored, int) or not isinstance(partition, int):
        return None
    generation, offset = split_offset(stored)
    return Arrival(generation=generation, partition=partition, offset=offset)


def _kept_names(group: PhysicalGroup) -> Iterator[str]:
    for kept in group.kept_columns:
        yield from (kept.name, kept.order_column)
