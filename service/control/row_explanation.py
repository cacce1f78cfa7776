"""Explanation of a row as an answer: the engine's reasons, with streams, topics and offsets."""

from collections.abc import Mapping
from typing import Any

from braid.formats.json_values import json_value
from braid.lake import ColumnReasons, KeyExplanation, Reason
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import ColumnOrigin, OtherVersion, RecordPlace, RowVersion, Winner
from braid.service.control.row_versions import VersionStreams, takes_part
from braid.service.times import iso_utc

KEPT = "kept"
"""The reason of a version that leaves a kept column as it is; to the engine, it is a value without an order."""


def column_origins(found: KeyExplanation, streams: VersionStreams) -> dict[str, ColumnOrigin]:
    """Return by column, without the key and the columns that order kept ones, why it has its value."""
    row = found.row or {}
    fields = {field.name: field for field in shown_fields(streams.schema)}
    return {
        name: _origin(name, json_value(row.get(name), fields[name].type), why, found, streams)
        for name, why in found.columns.items()
        if name in fields
    }


def row_versions(found: KeyExplanation, streams: VersionStreams) -> tuple[RowVersion, ...]:
    """Return the versions of an explanation, newest first."""
    numbers = reversed(range(len(found.versions)))
    return tuple(_version(number, found, streams) for number in numbers)


def _origin(
    name: str, value: Any, why: ColumnReasons, found: KeyExplanation, streams: VersionStreams
) -> ColumnOrigin:
    group = streams.group_of.get(name)
    reasons: dict[int, str] = dict(why.reasons)
    if name in streams.kept and group is not None:
        reasons |= {
            number: KEPT
            for number, reason in reasons.items()
            if reason is Reason.NULL_SKIPPED and takes_part(group, found.values[number])
        }
    winner, reason = None, None
    if why.winner is not None:
        reason = reasons.pop(why.winner)
        place = _place(name, why.winner, found, streams)
        winner = Winner(version=why.winner, **dict(place))
    elif Reason.AGGREGATED in reasons.values() or Reason.COMPACTED in reasons.values():
        reason = Reason.AGGREGATED
    return ColumnOrigin(
        value=value,
        group=None if group is None else group.name,
        reason=reason,
        winner=winner,
        others=tuple(
            OtherVersion(version=number, reason=reasons[number])
            for number in sorted(reasons, reverse=True)
        ),
    )


def _place(column: str, number: int, found: KeyExplanation, streams: VersionStreams) -> RecordPlace:
    """Return the record that a version has the value of a column from."""
    group, values = streams.group_of.get(column), found.values[number]
    writer = streams.writer_of(found.versions, number, values)
    if group is None:
        return RecordPlace(stream=writer, topic=None, arrival=None, ordering={}, arrived_at=None)
    kept = streams.kept.get(column)
    place = streams.place_in(group, values) if kept is None else streams.place_of_kept(kept, values)
    return place if place.stream or not writer else place.model_copy(update={"stream": writer})


def _version(number: int, found: KeyExplanation, streams: VersionStreams) -> RowVersion:
    versions, values = found.versions, found.values[number]
    source = versions.sources[number]
    return RowVersion(
        version=number,
        stream=streams.writer_of(versions, number, values),
        snapshot_id=None if source.snapshot is None else source.snapshot.id,
        commit_time=None if source.snapshot is None else iso_utc(source.snapshot.time_millis),
        compacted=source.is_compacted,
        kind=found.kinds[number].symbol,
        sequence_number=found.sequence_numbers[number],
        file=None if source.file is None else source.file.file_name,
        level=None if source.file is None else source.file.level,
        groups=streams.places_in(values),
        values=_values(values, streams),
    )


def _values(values: Mapping[str, object], streams: VersionStreams) -> dict[str, Any]:
    schema = streams.schema
    return {
        field.name: json_value(values[field.name], field.type)
        for field in shown_fields(schema)
        if field.name not in schema.primary_keys and values[field.name] is not None
    }
