"""Rules for the formats of messages: what a format needs of its own options, and of the columns that read it.

Pure.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from braid.formats.avro.schema import AvroSchemaError, parse_avro_schema
from braid.formats.mapped_column import MappedColumn
from braid.formats.native.native_types import NativeType, misfit, types_at
from braid.formats.raw_reader import RAW_FIELD
from braid.lake import parse_type
from braid.schemas import (
    AvroFormat,
    ColumnSource,
    CsvFormat,
    FieldProblem,
    JsonFormat,
    MessageFormat,
    OnNewField,
    RawFormat,
    StreamSpec,
    TableSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list

_SHOWN_MAX: Final = 100


def check_format(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of a stream's format.

    Args:
        table: The stream's table.
        stream: The completed stream.
    """
    match stream.format:
        case JsonFormat():
            return
        case AvroFormat():
            yield from _check_avro(table, stream, stream.format)
            return
        case CsvFormat():
            yield from _check_csv(stream.format)
            yield from _check_fields(stream, stream.format.fields)
        case RawFormat():
            yield from _check_fields(stream, (RAW_FIELD,))
    if stream.on_new_field is not OnNewField.IGNORE:
        yield problem_at(
            "on_new_field",
            value=stream.on_new_field,
            message=f"messages of the format `{stream.format.type}` have no names of fields, so a new field "
            "cannot be told from a declared one",
            hint="use `ignore`",
        )


def unreadable_fields(
    declared: MessageFormat, fields: Sequence[MappedColumn]
) -> Iterator[tuple[MappedColumn, str, str]]:
    """Yield the fields that no message of a format has, or has with a value of their type; with a message and a hint.

    Args:
        declared: The format; of one whose messages name their fields without a schema every field can be read.
        fields: The fields.
    """
    match declared:
        case CsvFormat():
            known = declared.fields
        case RawFormat():
            known = (RAW_FIELD,)
        case AvroFormat():
            yield from _not_in_schema(declared, fields)
            return
        case _:
            return
    for field in fields:
        if field.address not in known:
            yield (
                field,
                f"messages of the format `{declared.type}` have no such field",
                f"fields: {quoted_list(known)}",
            )


def _not_in_schema(
    declared: AvroFormat, fields: Sequence[MappedColumn]
) -> Iterator[tuple[MappedColumn, str, str]]:
    try:
        record = parse_avro_schema(declared.schema_text)
    except AvroSchemaError:
        return  # a problem of the format
    for field in fields:
        found = types_at(record, field.path)
        reason = misfit(found, field.type) if found else None
        if not found:
            yield (
                field,
                "the schema of the messages has no such field",
                _fields_hint(record, field.path),
            )
        elif reason is not None:
            yield field, f"the field is {reason}", "compare it with values of its own type"


def _fields_hint(message: NativeType, path: Sequence[str]) -> str:
    names = sorted({name for one in types_at(message, path[:-1]) for name in one.fields})
    return f"fields: {quoted_list(names)}" if names else "name a field of the schema"


def _check_avro(
    table: TableSpec, stream: StreamSpec, declared: AvroFormat
) -> Iterator[FieldProblem]:
    if stream.on_new_field is OnNewField.EVOLVE:
        yield problem_at(
            "on_new_field",
            value=stream.on_new_field,
            message=f"columns are not added from the schemas of the format `{declared.type}`",
            hint="use `ignore` or `reject`, and declare the columns",
        )
    try:
        record = parse_avro_schema(declared.schema_text)
    except AvroSchemaError as error:
        yield problem_at(
            "format",
            "schema",
            value=declared.schema_text[:_SHOWN_MAX],
            message=f"no schema of Avro records: {error}",
            hint="give the schema that producers write the records with, as JSON text",
        )
        return
    yield from _check_types(table, stream, record)


def _check_types(
    table: TableSpec, stream: StreamSpec, message: NativeType
) -> Iterator[FieldProblem]:
    """Yield the columns that no value of their field in the schema can fill."""
    types = {column.name: parse_type(column.type) for column in reversed(table.columns)}
    for index, mapping in enumerate(stream.columns):
        if mapping.source is not ColumnSource.VALUE:
            continue
        path = mapping.source_path
        found = types_at(message, path)
        if not found:
            yield problem_at(
                "columns",
                index,
                "path",
                value=".".join(path),
                message="the schema of the messages has no such field",
                hint=_fields_hint(message, path),
            )
        elif mapping.column in types:
            reason = misfit(found, types[mapping.column])
            if reason is not None:
                yield problem_at(
                    "columns",
                    index,
                    "column",
                    value=mapping.column,
                    message=f"the field `{'.'.join(path)}` is {reason}",
                    hint="declare a column of a type that holds the field's values",
                )


def _check_csv(declared: CsvFormat) -> Iterator[FieldProblem]:
    repeated = [name for name, count in Counter(declared.fields).items() if count > 1]
    if repeated:
        yield problem_at(
            "format",
            "fields",
            value=repeated[0],
            message=f"named twice: {quoted_list(repeated)}",
            hint="give each value a name of its own",
        )
    if declared.delimiter == declared.quote:
        yield problem_at(
            "format",
            "quote",
            value=declared.quote,
            message="the quote is the delimiter",
            hint="choose two characters",
        )
    for name, character in (("delimiter", declared.delimiter), ("quote", declared.quote)):
        if character in "\r\n\0":
            yield problem_at(
                "format",
                name,
                value=character,
                message="a line break or NUL cannot separate or quote values",
                hint="choose another character, for example `;`",
            )


def _check_fields(stream: StreamSpec, fields: tuple[str, ...]) -> Iterator[FieldProblem]:
    """Yield the columns that are read from a field which the messages do not have."""
    known = frozenset(fields)
    for index, mapping in enumerate(stream.columns):
        address = ".".join(mapping.source_path)
        if mapping.source is ColumnSource.VALUE and address not in known:
            yield problem_at(
                "columns",
                index,
                "path",
                value=address,
                message=f"messages of the format `{stream.format.type}` have no such field",
                hint=f"fields: {quoted_list(fields)}",
            )
