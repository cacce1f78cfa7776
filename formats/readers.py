"""Choice of the reader of a stream's messages by the declared format; for captured changes `change_capture.readers` chooses.

If columns have time formats (`mapping`), are computed or have defaults (`expressions`), further readers for these are wrapped
around the reader of the format.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, assert_never

from braid.formats.avro.reader import AvroReader
from braid.formats.avro.schema import parse_avro_schema
from braid.formats.csv_reader import CsvReader
from braid.formats.expressions.computed_reader import reader_with_computed
from braid.formats.json.message_reader import JsonReader
from braid.formats.json.registered_reader import RegisteredJsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader
from braid.formats.protobuf.indexed_reader import IndexedProtobufReader
from braid.formats.protobuf.reader import ProtobufReader
from braid.formats.protobuf.schema import parse_descriptor_set, registered_files
from braid.formats.raw_reader import RawReader
from braid.formats.registered_reader import RegisteredReader
from braid.formats.schema_registry.schema_source import RegisteredSchema, SchemaKind, SchemaSource
from braid.schemas import (
    AvroFormat,
    ChangeFormat,
    CsvFormat,
    JsonFormat,
    MessageFormat,
    ProtobufFormat,
    RawFormat,
)


def message_reader(
    declared: MessageFormat,
    columns: Sequence[MappedColumn],
    *,
    fields: Sequence[MappedColumn] = (),
    paths_of_other_streams: Sequence[tuple[str, ...]] = (),
    finds_undeclared: bool = False,
    schemas: SchemaSource | None = None,
) -> MessageReader:
    """Return the reader of a stream's messages.

    Args:
        declared: The format; none of captured changes, which `change_capture.readers` reads.
        columns: The columns that are read from the messages, or computed from their fields.
        fields: The fields that expressions of columns can use.
        paths_of_other_streams: Paths that other streams of the table read from the same topic.
        finds_undeclared: Whether messages with fields from which no column is read are reported; only for
            JSON, Avro and Protobuf.
        schemas: The registry that the format names; None if it names none.
    """

    def reader_of(plain: Sequence[MappedColumn]) -> MessageReader:
        return _reader_of_format(
            declared,
            plain,
            paths_of_other_streams=paths_of_other_streams,
            finds_undeclared=finds_undeclared,
            schemas=schemas,
        )

    return reader_with_computed(columns, fields, partial(reader_with_times, reader_of=reader_of))


def _reader_of_format(
    declared: MessageFormat,
    columns: Sequence[MappedColumn],
    *,
    paths_of_other_streams: Sequence[tuple[str, ...]],
    finds_undeclared: bool,
    schemas: SchemaSource | None,
) -> MessageReader:
    assert not isinstance(declared, ChangeFormat), "captured changes have readers of their own"
    match declared:
        case JsonFormat():
            messages = JsonReader(
                columns,
                paths_of_other_streams=paths_of_other_streams,
                finds_undeclared=finds_undeclared,
            )
            if declared.schema_registry is None:
                return messages
            assert schemas is not None, "the registry that a format names is given"
            return RegisteredJsonReader(messages, schemas)
        case CsvFormat():
            return CsvReader(columns, declared)
        case AvroFormat():
            return _avro_reader(
                declared,
                columns,
                schemas,
                paths_of_other_streams=paths_of_other_streams,
                finds_undeclared=finds_undeclared,
            )
        case ProtobufFormat():
            return _protobuf_reader(
                declared,
                columns,
                schemas,
                paths_of_other_streams=paths_of_other_streams,
                finds_undeclared=finds_undeclared,
            )
        case RawFormat():
            return RawReader(columns)
        case _:
            assert_never(declared)


def _avro_reader(
    declared: AvroFormat,
    columns: Sequence[MappedColumn],
    schemas: SchemaSource | None,
    **options: Any,
) -> MessageReader:
    if declared.schema_text is not None:
        return AvroReader(parse_avro_schema(declared.schema_text), columns, **options)

    def reader_of(schema: RegisteredSchema) -> MessageReader:
        record = parse_avro_schema(schema.text, list(schema.references.values()))
        return AvroReader(record, columns, **options)

    assert schemas is not None, "the registry that a format names is given"
    return RegisteredReader(columns, schemas, SchemaKind.AVRO, reader_of)


def _protobuf_reader(
    declared: ProtobufFormat,
    columns: Sequence[MappedColumn],
    schemas: SchemaSource | None,
    **options: Any,
) -> MessageReader:
    if declared.descriptor_set is not None and declared.message is not None:
        message = parse_descriptor_set(declared.descriptor_set, declared.message)
        return ProtobufReader(message, columns, **options)

    def reader_of(schema: RegisteredSchema) -> MessageReader:
        files = registered_files(schema.text, schema.references)
        return IndexedProtobufReader(files, columns, **options)

    assert schemas is not None, "the registry that a format names is given"
    return RegisteredReader(columns, schemas, SchemaKind.PROTOBUF, reader_of)
