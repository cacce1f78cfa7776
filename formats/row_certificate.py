"""Certificates of rows: written from the explanation of a row, and verified without the table.

A certificate has the schema, the options of which are the rules of merging, and the records that the row was merged from. To
verify it is to merge the records again, and to compare the row and the record that gives each value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import ValidationError

from braid.formats.json_values import json_row, json_value
from braid.formats.parsed_json import parsed_json
from braid.lake import (
    InvalidRequest,
    KeyExplanation,
    KeyVersions,
    LimitExceeded,
    Problem,
    RowKind,
    Snapshot,
    TableSchema,
    UnsupportedFeature,
    VersionSource,
    check_supported,
    explain_versions,
    parse_schema,
    serialize_schema,
)
from braid.schemas import CertifiedRecord, CertifiedSnapshot, RowCertificate
from braid.schemas.certificate import CERTIFICATE_VERSION

BYTES_MAX: Final = 8 << 20
"""The largest certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A column that merges into something else than what the certificate says.

    Attributes:
        column: The column; "" for the existence of the row.
        certified: What the certificate says.
        merged: What its records merge into.
    """

    column: str
    certified: str
    merged: str


def certify(
    table: str,
    key: Mapping[str, object],
    found: KeyExplanation,
    *,
    snapshot: Snapshot | None,
    commit_time: str | None,
    streams: Sequence[str | None],
) -> RowCertificate:
    """Return the certificate of a row.

    Args:
        table: `<database>.<table>`.
        key: The typed primary key.
        found: The explanation of the row.
        snapshot: The snapshot that it was read from.
        commit_time: Its time as text.
        streams: The stream that has written each version.

    Raises:
        LimitExceeded: The certificate would be larger than 8 MiB.
        UnsupportedFeature: JSON does not hold a value exactly.
    """
    schema = found.versions.schema
    # Without the time to live, which depends on when it is looked at.
    merged = explain_versions(found.versions)
    certificate = RowCertificate(
        table=table,
        key=json_row(key, [schema.field(name) for name in key]),
        snapshot=None
        if snapshot is None or commit_time is None
        else CertifiedSnapshot(id=snapshot.id, uuid=snapshot.uuid, commit_time=commit_time),
        table_schema=orjson.loads(serialize_schema(schema)),
        records=tuple(
            CertifiedRecord(
                sequence_number=found.sequence_numbers[number],
                kind=found.kinds[number].symbol,
                stream=streams[number],
                snapshot_id=None if source.snapshot is None else source.snapshot.id,
                compacted=source.is_compacted,
                values={
                    field.name: json_value(found.values[number][field.name], field.type)
                    for field in schema.fields
                    if found.values[number][field.name] is not None
                },
            )
            for number, source in enumerate(found.versions.sources)
        ),
        row=None if merged.row is None else json_row(merged.row, schema.fields),
        winners={name: why.winner for name, why in merged.columns.items()},
    )
    size = len(certificate.model_dump_json())
    if size > BYTES_MAX:
        message = f"the certificate has {size} bytes, and at most {BYTES_MAX} are allowed"
        raise LimitExceeded(message)
    if differences(certificate):
        message = "JSON does not hold the values of the row's versions exactly"
        raise UnsupportedFeature(message)
    return certificate


def parse_certificate(data: bytes) -> RowCertificate:
    """Return the certificate that a file holds.

    Raises:
        InvalidRequest: The bytes are no certificate; the message has the reason.
        UnsupportedFeature: It has a newer version.
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        message = f"this is no certificate: it is not JSON: {error}"
        raise InvalidRequest(message) from error
    version = document.get("version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > CERTIFICATE_VERSION:
        message = (
            f"the certificate has version {version}, and this program verifies version "
            f"{CERTIFICATE_VERSION}\nhint: use a newer version of Braid"
        )
        raise UnsupportedFeature(message)
    try:
        return RowCertificate.model_validate(document)
    except ValidationError as error:
        problems = [
            Problem(
                field=".".join(str(part) for part in found["loc"]) or "certificate",
                value=None,
                message=found["msg"],
            )
            for found in error.errors()
        ]
        message = "this is no certificate of a row"
        raise InvalidRequest(message, problems=problems) from error


def differences(certificate: RowCertificate) -> list[Difference]:
    """Return where the records of a certificate merge into another row; empty if it is the same.

    Raises:
        InvalidRequest: The schema or a record cannot be read; the problems have the record and the column.
        UnsupportedFeature: The schema needs what this version does not have, such as an aggregate function.
        SchemaMismatch: The records cannot be merged.
    """
    schema = parse_schema(orjson.dumps(certificate.table_schema))
    check_supported(schema)
    versions = _versions(certificate, schema)
    try:
        found = explain_versions(versions)
    except (KeyError, ValueError) as error:
        # Schemas of tables name only columns that they have.
        message = f"the certificate cannot be read: a rule of its schema names a column that the schema does not have ({error})"
        raise InvalidRequest(message) from error
    return list(_differences(certificate, found, schema))


def _differences(
    certificate: RowCertificate, found: KeyExplanation, schema: TableSchema
) -> Iterator[Difference]:
    certified = certificate.row
    if (certified is None) != (found.row is None):
        exists = ("no row", "a row")
        yield Difference(
            column="",
            certified=exists[certified is not None],
            merged=exists[found.row is not None],
        )
        return
    merged = json_row(found.row or {}, schema.fields)
    for name, value in merged.items():
        expected = (certified or {}).get(name)
        if expected != value:
            yield Difference(column=name, certified=_text(expected), merged=_text(value))
        elif name in found.columns:
            winner, other = certificate.winners.get(name), found.columns[name].winner
            if winner != other:
                yield Difference(
                    column=name,
                    certified=f"record {_text(winner)}",
                    merged=f"record {_text(other)}",
                )


def _versions(certificate: RowCertificate, schema: TableSchema) -> KeyVersions:
    values = [_typed(number, record, schema) for number, record in enumerate(certificate.records)]
    key = [certificate.key.get(name) for name in schema.primary_keys]
    for number, record in enumerate(certificate.records):
        if [record.values.get(name) for name in schema.primary_keys] != key:
            raise _unreadable(number, "it is of another key than the certificate")
    records = certificate.records
    return KeyVersions.of_values(
        schema,
        values,
        kinds=[RowKind.from_symbol(record.kind) for record in records],
        sequence_numbers=[record.sequence_number for record in records],
        sources=[VersionSource(is_compacted=record.compacted) for record in records],
    )


def _typed(number: int, record: CertifiedRecord, schema: TableSchema) -> dict[str, object]:
    unknown = record.values.keys() - set(schema.field_names)
    if unknown:
        raise _unreadable(number, "the schema has no such column", column=min(unknown))
    typed: dict[str, object] = {}
    for field in schema.fields:
        try:
            typed[field.name] = parsed_json(record.values.get(field.name), field.type)
        except ValueError as error:
            message = f"expected {field.type}: {error}"
            raise _unreadable(number, message, column=field.name) from error
    return typed


def _unreadable(record: int, message: str, *, column: str | None = None) -> InvalidRequest:
    field = f"records.{record}" if column is None else f"records.{record}.values.{column}"
    problem = Problem(field=field, value=None, message=message)
    return InvalidRequest("the certificate cannot be read", problems=[problem])


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
