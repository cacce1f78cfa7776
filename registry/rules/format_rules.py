"""Rules for the formats of messages: what a format needs of its own options, and of the columns that read it.

Pure.
"""

from collections import Counter
from collections.abc import Iterator

from braid.formats.raw_reader import RAW_FIELD
from braid.schemas import (
    ColumnSource,
    CsvFormat,
    FieldProblem,
    JsonFormat,
    MessageFormat,
    OnNewField,
    RawFormat,
    StreamSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list


def check_format(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of a stream's format.

    Args:
        stream: The completed stream.
    """
    match stream.format:
        case JsonFormat():
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


def fields_of(declared: MessageFormat) -> tuple[str, ...] | None:
    """Return the names of all fields that messages of a format have; None: each message names its own."""
    match declared:
        case CsvFormat():
            return declared.fields
        case RawFormat():
            return (RAW_FIELD,)
        case _:
            return None


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
