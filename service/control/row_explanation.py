"""Explanation of a row as an answer: the engine's reasons, with streams, topics and offsets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from braid.formats.json_values import json_value
from braid.lake import ColumnReasons, KeyExplanation, Reason
from braid.schemas import ColumnOrigin, OtherVersion, RecordPlace, RowVersion, Winner
from braid.schemas.explanation import KEPT
from braid.service.control.row_versions import VersionStreams, takes_part
from braid.service.times import iso_utc


def column_origins(found: KeyExplanation, streams: VersionStreams) -> dict[str, ColumnOrigin]:
    """Return by column, without the key and the columns that order kept ones, why it has its value."""
    row = found.row or {}
    # The columns of a group have one object of reasons, and so do their origins.
    parts: dict[tuple[int, str | None], _Origin] = {}
    origins: dict[str, ColumnOrigin] = {}
    for field in streams.shown_fields:
        why = found.columns.get(field.name)
        if why is None:
            continue
        group = streams.group_of.get(field.name)
        part = (id(why), None if group is None else group.name)
        if part not in parts:
            parts[part] = _origin(field.name, why, found, streams)
        origin = parts[part]
        origins[field.name] = ColumnOrigin(
            value=json_value(row.get(field.name), field.type),
            group=part[1],
            reason=origin.reason,
            winner=origin.winner,
            others=origin.others,
        )
    return origins


def version_reasons(origin: ColumnOrigin) -> list[str]:
    """Return the reason of each version, the winner's included, oldest first."""
    reasons = {other.version: other.reason for other in origin.others}
    if origin.winner is not None and origin.reason is not None:
        reasons[origin.winner.version] = origin.reason
    return [reasons[version] for version in sorted(reasons)]


def row_versions(found: KeyExplanation, streams: VersionStreams) -> tuple[RowVersion, ...]:
    """Return the versions of an explanation, newest first."""
    numbers = reversed(range(len(found.versions)))
    return tuple(_version(number, found, streams) for number in numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """What columns that change together have in common: see `ColumnOrigin`."""

    reason: str | None
    winner: Winner | None
    others: tuple[OtherVersion, ...]


def _origin(
    name: str, why: ColumnReasons, found: KeyExplanation, streams: VersionStreams
) -> _Origin:
    group = streams.group_of.get(name)
    reasons: dict[int, str] = dict(why.reasons)
    if name in streams.kept and group is not None:
        reasons |= {
            number: KEPT
            for number, reason in reasons.items()
            if reason is Reason.NULL_SKIPPED and takes_part(group, found.values[number])
        }
    winner, reason = winner_of(name, found, streams), None
    if winner is not None:
        reason = reasons.pop(winner.version)
    elif Reason.AGGREGATED in reasons.values() or Reason.COMPACTED in reasons.values():
        reason = Reason.AGGREGATED
    return _Origin(
        reason=reason,
        winner=winner,
        others=tuple(
            OtherVersion(version=number, reason=reasons[number])
            for number in sorted(reasons, reverse=True)
        ),
    )


def winner_of(column: str, found: KeyExplanation, streams: VersionStreams) -> Winner | None:
    """Return the version that gives a column its value, and the record in it; None: no single one does."""
    number = found.columns[column].winner
    if number is None:
        return None
    return Winner(version=number, **dict(record_place(column, number, found, streams)))


def record_place(
    column: str, number: int, found: KeyExplanation, streams: VersionStreams
) -> RecordPlace:
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
    key = streams.schema.primary_keys
    return {
        field.name: json_value(values[field.name], field.type)
        for field in streams.shown_fields
        if field.name not in key and values[field.name] is not None
    }
