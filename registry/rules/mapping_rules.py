"""Rules for the columns that a stream maps, and for the paths of the fields that they are read from.

A mapped column is declared and not generated, is mapped once, and has a type that streams read. A path is not a JSONPath
(`message_paths`), has at most 32 names, and does not lead to an object that contains the field of another column. All columns
of a field have the same type, time format and time zone. `format_rules` checks whether messages can have the field.

Pure, and linear in the number of columns: a declaration may have thousands of them, and its check must
not delay the requests of other clients.
"""

from collections.abc import Iterator, Mapping

from braid.lake import DataType, parse_type
from braid.registry.layout.physical_table import physical_groups
from braid.registry.rules.json_types import HINT as JSON_HINT, unreadable_in_json
from braid.registry.rules.message_paths import path_fault
from braid.schemas import FieldProblem, StreamColumn, StreamSpec, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

PATH_PARTS_MAX = 32

_Path = tuple[str, ...]


def check_mapping(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the columns that a stream maps."""
    generated = {
        column: group.name for group in physical_groups(table) for column in group.generated_columns
    }
    types = {
        column.name: parse_type(column.type).with_nullable(True)
        for column in reversed(table.columns)
    }
    inside = _columns_inside(stream)
    readers: dict[_Path, tuple[StreamColumn, DataType]] = {}
    seen: set[str] = set()
    for index, mapping in enumerate(stream.columns):
        path = ("columns", index, "column")
        if mapping.column in generated:
            yield problem_at(
                *path,
                value=mapping.column,
                message="this column is generated for the sequence group "
                f"`{generated[mapping.column]}`",
                hint="leave it out",
            )
        elif mapping.column not in types:
            yield problem_at(
                *path,
                value=mapping.column,
                message="no such column",
                hint=f"columns: {quoted_list(table.column_names)}",
            )
        elif mapping.column in seen:
            yield problem_at(
                *path, value=mapping.column, message="mapped twice", hint="map it once"
            )
        seen.add(mapping.column)
        if mapping.source.has_fields:
            yield from _check_path(stream, index, inside)
        data_type = types.get(mapping.column)
        if data_type is not None:
            if mapping.source.has_fields:
                yield from _check_readers(stream, index, data_type, readers)
            reason = unreadable_in_json(data_type)
            if reason is not None:
                yield problem_at(*path, value=mapping.column, message=reason, hint=JSON_HINT)


def _record_path(mapping: StreamColumn) -> _Path:
    """Return the part of the record that a column is read from, then the path in this part."""
    return (mapping.source.value, *mapping.source_path)


def _columns_inside(stream: StreamSpec) -> dict[_Path, str]:
    """Return a column that is read from inside of each object of the record, by the object's path."""
    found: dict[_Path, str] = {}
    for mapping in stream.columns:
        # Longer paths are refused anyway; the bound keeps the cost linear in the number of columns.
        path = _record_path(mapping)[: PATH_PARTS_MAX + 1]
        for end in range(1, len(path)):
            found.setdefault(path[:end], mapping.column)
    return found


def _check_path(
    stream: StreamSpec, index: int, inside: Mapping[_Path, str]
) -> Iterator[FieldProblem]:
    mapping = stream.columns[index]
    path = mapping.source_path
    json_path = ("columns", index, "path")
    # Without a path the column's name is the field's name, dots and brackets included.
    fault = path_fault(mapping.path or mapping.column) if mapping.path or not all(path) else None
    if fault is not None:
        message, hint = fault
        yield problem_at(*json_path, value=mapping.path, message=message, hint=hint)
    if len(path) > PATH_PARTS_MAX:
        message = f"a path has at most {PATH_PARTS_MAX} names, this one has {len(path)}"
        hint = "map an object that contains the field"
        yield problem_at(*json_path, value=mapping.path, message=message, hint=hint)
    known = inside.get(_record_path(mapping))
    if known is not None:
        yield problem_at(
            *json_path,
            value=".".join(path),
            message=f"this is an object of the message: the column `{known}` is read from inside "
            "of it",
            hint="name the field that holds the value",
        )


def _check_readers(
    stream: StreamSpec,
    index: int,
    data_type: DataType,
    readers: dict[_Path, tuple[StreamColumn, DataType]],
) -> Iterator[FieldProblem]:
    """Yield a problem if another column reads the same field in another way; adds this column to `readers`."""
    mapping = stream.columns[index]
    path = _record_path(mapping)
    earlier, kind = readers.setdefault(path, (mapping, data_type))
    if kind != data_type:
        kinds = sorted({str(kind), str(data_type)})
        yield problem_at(
            "columns",
            index,
            "path",
            value=".".join(path[1:]),
            message=f"the column `{earlier.column}` reads the same field with another type",
            hint=f"give both columns one type; they are {quoted_list(kinds)}",
        )
    elif _times(earlier) != _times(mapping):
        yield problem_at(
            "columns",
            index,
            "path",
            value=".".join(path[1:]),
            message=f"the column `{earlier.column}` reads the same field with another time format",
            hint="give both columns one `time_format` and one `time_zone`",
        )


def _times(mapping: StreamColumn) -> tuple[str | None, str | None]:
    return mapping.time_format, mapping.time_zone
