"""Rows as they would be: with one more record of a stream, or without some of its records. Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.formats.json_values import json_row
from braid.lake import (
    InvalidRequest,
    KeyExplanation,
    KeyVersions,
    Problem,
    SchemaMismatch,
    TableSchema,
    explain_versions,
    positions_of,
)
from braid.records.accepted_rows import split_kinds
from braid.records.stream_plan import plan_stream
from braid.records.trial import try_record
from braid.registry.layout.physical_table import shown_fields
from braid.registry.stream_entries import entry_of
from braid.schemas import (
    ArrivingRecord,
    ColumnChange,
    Hypothesis,
    HypotheticalRow,
    SampleOutcome,
    SampleRecord,
    SampleResult,
    SnapshotInfo,
    TableDocument,
)
from braid.service.control.left_out_records import without_records
from braid.service.control.row_explanation import column_origins, row_versions
from braid.service.control.row_status import StatusRules
from braid.service.control.row_versions import VersionStreams

_REFUSED = "refused_row"
"""The reason of a dead letter for a row that the table's writer refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Supposed:
    versions: KeyVersions
    result: SampleResult | None = None
    unknown: frozenset[str] = frozenset()


def hypothetical_row(
    found: KeyExplanation,
    hypothesis: Hypothesis,
    *,
    key: Mapping[str, object],
    streams: VersionStreams,
    document: TableDocument,
    now_ms: int,
    snapshot: SnapshotInfo,
) -> HypotheticalRow:
    """Return a row as it would be.

    Args:
        found: The explanation of the row as it is.
        hypothesis: What is supposed.
        key: The typed primary key.
        streams: The streams of the versions.
        document: The declaration.
        now_ms: The time of the request, milliseconds since 1970.
        snapshot: The snapshot that the row was read from.

    Raises:
        StreamNotFound: The table has no such stream.
        InvalidRequest: The record is one of another row, or cannot be read here.
        SchemaMismatch: The versions cannot be merged.
    """
    supposed = _supposed(found, hypothesis, key, streams, document, now_ms)
    after = explain_versions(supposed.versions)
    fields = [field for field in shown_fields(streams.schema) if field.name not in supposed.unknown]
    before_row, row = found.row, after.row
    before, values = json_row(before_row or {}, fields), json_row(row or {}, fields)
    rules = StatusRules(document, streams.schema)
    return HypotheticalRow(
        result=supposed.result,
        exists=row is not None,
        row=None if row is None else values,
        changed={
            name: ColumnChange(before=before[name], after=value)
            for name, value in values.items()
            if before[name] != value and name not in key
        },
        unknown=tuple(name for name in streams.schema.field_names if name in supposed.unknown),
        status=rules.status(key=key, row=row, now_ms=now_ms, snapshot=snapshot)
        if supposed.unknown.isdisjoint(rules.columns)
        else None,
        columns={
            name: origin
            for name, origin in column_origins(after, streams).items()
            if name not in supposed.unknown
        },
        versions=row_versions(after, streams),
        snapshot=snapshot,
    )


def _supposed(
    found: KeyExplanation,
    hypothesis: Hypothesis,
    key: Mapping[str, object],
    streams: VersionStreams,
    document: TableDocument,
    now_ms: int,
) -> _Supposed:
    """Return the versions that a row would have."""
    if hypothesis.what_if is not None:
        return _with_record(found.versions, hypothesis.what_if, key, streams, document, now_ms)
    assert hypothesis.without is not None, "one of the two is given"
    entry_of(document, hypothesis.without.stream)
    remaining = without_records(
        found.versions,
        found.values,
        streams=streams,
        document=document,
        left_out=hypothesis.without,
    )
    return _Supposed(versions=remaining.versions, unknown=remaining.unknown)


def _with_record(
    versions: KeyVersions,
    arriving: ArrivingRecord,
    key: Mapping[str, object],
    streams: VersionStreams,
    document: TableDocument,
    now_ms: int,
) -> _Supposed:
    stream, schema = entry_of(document, arriving.stream).spec, streams.schema
    if stream.schema_registry is not None:
        # Only runners have logins of registries.
        message = "messages or keys of the stream name their schemas by id, which the service cannot look up"
        raise _refused(field="what_if.stream", value=arriving.stream, message=message)
    positions = {} if streams.snapshot is None else positions_of(streams.snapshot)
    position = positions.get(arriving.stream)
    plan = plan_stream(
        table=document.identifier,
        spec=document.table,
        stream=stream,
        schema=schema,
        other_streams=[entry.spec for entry in document.streams.values()],
    )
    record = _arriving_now(arriving.record, {} if position is None else position.offsets, now_ms)
    generation = 0 if position is None else position.generation
    result, rows = try_record(plan, schema, record, generation=generation)
    if rows is None:
        return _Supposed(versions=versions, result=result)
    own = _rows_of_key(rows, key, schema)
    if not own.num_rows:
        shown = json_row(rows.slice(0, 1).to_pylist()[0], [schema.field(name) for name in key])
        message = f"the record is one of another row, of the key {shown}"
        raise _refused(field="what_if.record", message=message)
    try:
        return _Supposed(versions=versions.with_rows(*split_kinds(own)), result=result)
    except SchemaMismatch as error:
        refused = SampleResult(
            outcome=SampleOutcome.DEAD_LETTER, reason=_REFUSED, message=str(error)
        )
        return _Supposed(versions=versions, result=refused)


def _arriving_now(record: SampleRecord, offsets: Mapping[int, int], now_ms: int) -> SampleRecord:
    """Return a record with the place and the time of one that arrives now, where it has none."""
    now: dict[str, Any] = {}
    if record.offset is None:
        now["offset"] = offsets.get(record.partition, 0)
    if "timestamp_ms" not in record.model_fields_set:
        now["timestamp_ms"] = now_ms
    return record.model_copy(update=now)


def _rows_of_key(
    rows: pa.RecordBatch, key: Mapping[str, object], schema: TableSchema
) -> pa.RecordBatch:
    """Return the rows of a key; a record of captured changes may have rows of two keys."""
    fields = [schema.field(name) for name in key]
    wanted = json_row(key, fields)
    keys = rows.select(list(key)).to_pylist()
    return rows.filter(pa.array([json_row(one, fields) == wanted for one in keys]))


def _refused(*, field: str, message: str, value: str | None = None) -> InvalidRequest:
    problem = Problem(field=field, value=value, message=message)
    return InvalidRequest("the supposed record is not valid", problems=[problem])
