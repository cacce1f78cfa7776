"""Rules for message formats: the options of a format, `on_new_field`, and fields that messages of the format cannot have.

Pure. The fields of CSV and raw messages are known. If a schema is declared for Avro (also for Debezium's events) or Protobuf,
the fields are known with their types. For JSON, and for messages that name their schemas by id, no field is refused here.
`unreadable_fields` is for the fields of conditions and expressions. More rules for captured changes are in
`change_capture_rules`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from braid.formats.avro.schema import AvroSchemaError, parse_avro_schema
from braid.formats.change_capture.connect_types import with_time_format
from braid.formats.change_capture.debezium_avro import connect_type
from braid.formats.change_capture.debezium_events import AFTER
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.nested_times import NESTED, text_type
from braid.formats.native.native_types import NativeType, misfit, types_at
from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.schema import parse_descriptor_set
from braid.formats.raw_reader import RAW_FIELD
from braid.lake import parse_type
from braid.registry.layout.stream_columns import mapped_column
from braid.registry.rules.time_format_rules import why_not_written
from braid.schemas import (
    AvroFormat,
    CanalFormat,
    ColumnSource,
    CsvFormat,
    DebeziumFormat,
    FieldProblem,
    JsonFormat,
    MaxwellFormat,
    MessageFormat,
    OnNewField,
    ProtobufFormat,
    RawFormat,
    SourceDatabase,
    StreamSpec,
    TableSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list


def check_format(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of a stream's format.

    Args:
        table: The stream's table.
        stream: The completed stream.
    """
    match stream.format:
        case JsonFormat() | MaxwellFormat() | CanalFormat():
            return
        case DebeziumFormat():
            if isinstance(stream.format.messages, AvroFormat):
                yield from _check_avro_events(table, stream, stream.format, stream.format.messages)
            return
        case AvroFormat() | ProtobufFormat():
            yield from _check_schema(table, stream, stream.format)
            return
        case CsvFormat():
            yield from _check_csv(stream.format)
            yield from _check_fields(stream, stream.format.fields)
        case RawFormat():
            yield from _check_fields(stream, (RAW_FIELD,))
        case _:
            assert_never(stream.format)
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
        case AvroFormat() | ProtobufFormat():
            yield from _not_in_schema(declared, fields)
            return
        case DebeziumFormat(messages=AvroFormat() as messages):
            yield from _not_in_schema(messages, fields)
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
    declared: AvroFormat | ProtobufFormat, fields: Sequence[MappedColumn]
) -> Iterator[tuple[MappedColumn, str, str]]:
    try:
        message = _declared_message(declared)
    except (AvroSchemaError, ProtobufSchemaError):
        return  # a problem of the format
    if message is None:
        return
    for field in fields:
        found = types_at(message, field.path)
        reason = _misfit(found, field) if found else None
        if not found:
            yield (
                field,
                "the schema of the messages has no such field",
                _fields_hint(message, field.path),
            )
        elif reason is not None:
            yield field, f"the field is {reason}", "compare it with values of its own type"


def _fields_hint(message: NativeType, path: Sequence[str]) -> str:
    names = sorted({name for one in types_at(message, path[:-1]) for name in one.fields})
    return f"fields: {quoted_list(names)}" if names else "name a field of the schema"


def _declared_message(declared: AvroFormat | ProtobufFormat) -> NativeType | None:
    """Return the type of all messages; None where each names its schema by id.

    Raises:
        AvroSchemaError, ProtobufSchemaError: The declared schema is none.
    """
    if isinstance(declared, ProtobufFormat):
        is_whole = declared.descriptor_set is not None and declared.message is not None
        return (
            parse_descriptor_set(declared.descriptor_set or "", declared.message or "")
            if is_whole
            else None
        )
    return None if declared.schema_text is None else parse_avro_schema(declared.schema_text)


def _check_avro_events(
    table: TableSpec, stream: StreamSpec, declared: DebeziumFormat, messages: AvroFormat
) -> Iterator[FieldProblem]:
    """Yield the problems of events in Avro."""
    if declared.database is SourceDatabase.MONGODB and not declared.unwrapped:
        yield problem_at(
            "format",
            "unwrapped",
            value=declared.unwrapped,
            message="documents of MongoDB are JSON texts inside of the events; if the events are in Avro, columns cannot be "
            "read from such texts",
            hint="unwrap the events (ExtractNewDocumentState) and declare `unwrapped: true`, or send JSON",
        )
    image = () if declared.unwrapped else (AFTER,)
    yield from _check_schema(table, stream, messages, image=image)


def _check_schema(
    table: TableSpec,
    stream: StreamSpec,
    declared: AvroFormat | ProtobufFormat,
    *,
    image: tuple[str, ...] = (),
) -> Iterator[FieldProblem]:
    """Yield the problems of a declared schema, and of columns that do not fit it.

    Args:
        table: The stream's table.
        stream: The completed stream.
        declared: The format with the schema.
        image: The path of the row in the messages.
    """
    problem = _not_one_source(declared)
    if problem is not None:
        yield problem
        return
    message = None
    try:
        message = _declared_message(declared)
    except AvroSchemaError as error:
        yield problem_at(
            "format",
            "schema",
            message=f"the schema cannot be used: {error}",
            hint="give the schema that producers write the records with, as JSON",
        )
    except ProtobufSchemaError as error:
        yield problem_at(
            "format",
            "descriptor_set",
            message=f"the schema cannot be used: {error}",
            hint="`protoc --include_imports --descriptor_set_out` writes it",
        )
    if message is not None:
        yield from _check_types(table, stream, message, image)


def _not_one_source(declared: AvroFormat | ProtobufFormat) -> FieldProblem | None:
    """Return the problem of a format that has not exactly one source of schemas."""
    options = {"schema_registry": declared.schema_registry}
    if isinstance(declared, AvroFormat):
        own = {"schema": declared.schema_text}
    else:
        own = {"descriptor_set": declared.descriptor_set, "message": declared.message}
    given = [name for name, value in (own | options).items() if value is not None]
    if given in ([*own], [*options]):
        return None
    return problem_at(
        "format",
        next(iter(own)),
        message=f"messages either have one declared schema or name their schemas by id; found {quoted_list(given)}",
        hint=f"give either {' and '.join(f'`{name}`' for name in own)}, or `schema_registry`",
    )


def _check_types(
    table: TableSpec, stream: StreamSpec, message: NativeType, image: tuple[str, ...]
) -> Iterator[FieldProblem]:
    """Yield the columns that no value of their field in the schema can fill."""
    types = {column.name: parse_type(column.type) for column in reversed(table.columns)}
    for index, mapping in enumerate(stream.columns):
        if mapping.source not in (ColumnSource.VALUE, ColumnSource.CHANGE):
            continue
        of_event = mapping.source is ColumnSource.CHANGE
        path = mapping.source_path if of_event else (*image, *mapping.source_path)
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
            column = mapped_column(mapping, types[mapping.column])
            if stream.captures_changes:
                column = with_time_format(column, connect_type(found))
            reason = _misfit(found, column)
            if reason is not None:
                yield problem_at(
                    "columns",
                    index,
                    "column",
                    value=mapping.column,
                    message=f"the field `{'.'.join(path)}` is {reason}",
                    hint="declare a column of a type that holds the field's values",
                )


def _misfit(found: Sequence[NativeType], column: MappedColumn) -> str | None:
    """Return why no value of a field can fill a column; None if one can."""
    if column.time_format is None:
        return misfit(found, column.type)
    if column.type.root in NESTED:
        return misfit(found, text_type(column.type))
    return why_not_written([one.native_kind for one in found], column)


def _check_csv(declared: CsvFormat) -> Iterator[FieldProblem]:
    repeated = [name for name, count in Counter(declared.fields).items() if count > 1]
    if repeated:
        yield problem_at(
            "format",
            "fields",
            value=repeated[0],
            message=f"these names occur twice: {quoted_list(repeated)}",
            hint="give each value a name of its own",
        )
    if declared.delimiter == declared.quote:
        yield problem_at(
            "format",
            "quote",
            value=declared.quote,
            message="the quote and the delimiter are the same character",
            hint="choose two different characters",
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
