"""Rules for the time formats of columns: the types and sources that can have one, and the formats that exist.

Pure. `format_rules` uses `why_not_written`, which says whether values of a declared schema can have the format.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from braid.formats.mapped_column import ISO, MappedColumn
from braid.formats.mapping.local_clock import NoSuchTimeZone
from braid.formats.mapping.nested_times import NESTED, times_in
from braid.formats.mapping.time_formats import EPOCH_UNIT_NS, TimeZoneWithoutEffect, time_texts
from braid.formats.native.kinds import NativeKind
from braid.registry.layout.declared_types import parsed_type
from braid.registry.layout.stream_columns import mapped_column
from braid.schemas import ColumnSource, FieldProblem, StreamSpec, TableSpec
from braid.schemas.field_problems import problem_at

_HINT: Final = (
    f"use `{ISO}`, {', '.join(f'`{name}`' for name in EPOCH_UNIT_NS)}, "
    "or a pattern such as `dd.MM.yyyy HH:mm:ss`"
)
_NAME_HINT: Final = "use a name of the IANA database, such as `Europe/Berlin` or `UTC`"
_NO_ZONE_HINT: Final = "leave `time_zone` out"
_ZONE_HINTS: Final = (_NAME_HINT, _NO_ZONE_HINT)
_NUMBERS: Final = (NativeKind.WHOLE, NativeKind.FLOAT, NativeKind.DECIMAL, NativeKind.TEXT)


def check_time_formats(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the time formats of a stream's columns.

    Args:
        table: The stream's table.
        stream: The completed stream.
    """
    types = {column.name: parsed_type(column.type) for column in table.columns}
    for index, mapping in enumerate(stream.columns):
        data_type = types.get(mapping.column)
        if data_type is None:
            continue
        found = why_no_times(mapped_column(mapping, data_type))
        if found is not None:
            message, hint = found
            is_of_zone = mapping.time_format is None or hint in _ZONE_HINTS
            field = "time_zone" if is_of_zone else "time_format"
            value = mapping.time_zone if is_of_zone else mapping.time_format
            yield problem_at("columns", index, field, value=value, message=message, hint=hint)


def why_no_times(column: MappedColumn) -> tuple[str, str] | None:
    """Return why a column cannot have its time format, and a hint; None if it can, or has none."""
    if column.time_format is None:
        return None
    times = list(times_in(column.type))
    if not times:
        message = (
            f"the column is of type {column.type.with_nullable(True)}, which has no time formats"
        )
        return message, "leave it out: only DATE, TIME and TIMESTAMPs have time formats"
    if column.type.root in NESTED and column.source is not ColumnSource.VALUE:
        message = (
            f"the dates and times inside of {column.type.with_nullable(True)} are always ISO 8601 "
            f"in the {column.source.value} of a record"
        )
        return message, "leave it out, or read the column from the value"
    try:
        for one in times:
            time_texts(column.time_format, one)
    except NoSuchTimeZone as error:
        return str(error), _NAME_HINT
    except TimeZoneWithoutEffect as error:
        return str(error), _NO_ZONE_HINT
    except ValueError as error:
        return str(error), _HINT
    return None


def why_not_written(kinds: Sequence[NativeKind], column: MappedColumn) -> str | None:
    """Return why no value of a field is written in the time format of its column; None if one may be.

    Args:
        kinds: The kinds of value that the field can have by the schema of the messages.
        column: The column, with a time format.
    """
    declared = column.time_format
    assert declared is not None, "the column has a time format"
    fitting = (NativeKind.TEXT,) if declared.text == ISO else _NUMBERS
    if any(kind in fitting or kind is NativeKind.NULL for kind in kinds):
        return None
    return f"{kinds[0].value}, and not {declared.words}"
