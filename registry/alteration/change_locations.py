"""Where in a request for schema changes something is wrong, from where it shows in the result.

Pure. The rules judge the table and the streams that come of a request; people mend the request. What
no single change of it is to blame for is told by the field of the declaration, without a pointer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lake import ChangeProblem, Problem
from schemas import FieldProblem, TableChange, TableSpec
from schemas.field_problems import JsonPath, field_path, json_pointer, problem_at

_ENGINE_PARTS: Final[Mapping[str, str]] = {
    "name": "column",
    "path": "column",
    "neighbour": "position",
    "default_value": "default",
    "keep_nullability": "type",
}
"""Parts of the engine's changes that a request calls otherwise."""

_INDEX = re.compile(r"[0-9]{1,9}")  # longer texts of digits are names


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which change of a request is behind what.

    Attributes:
        requested: The changes as requested; empty: there is no request, and fields are told alone.
        of_engine: For each change that the engine is asked for, the index of the requested one.
        of_column: By the column's name in the end.
        of_group: By the sequence group's name.
        of_option: By the option's key.
    """

    requested: tuple[TableChange, ...] = ()
    of_engine: tuple[int, ...] = ()
    of_column: Mapping[str, int] = field(default_factory=dict)
    of_group: Mapping[str, int] = field(default_factory=dict)
    of_option: Mapping[str, int] = field(default_factory=dict)

    def place(self, index: int, part: str) -> JsonPath:
        """Return the place of a requested change, or of a part of it that it has."""
        place: JsonPath = ("changes", index)
        has_part = part in type(self.requested[index]).model_fields
        return (*place, part) if has_part else place


def engine_problem(problem: Problem, origin: Origin, after: TableSpec) -> FieldProblem:
    """Return a problem that the engine finds in the changes, or in what comes of them."""
    if not isinstance(problem, ChangeProblem):
        place = _place_in_result(_result_place(problem.field, after), origin, after)
    elif problem.index < len(origin.of_engine):
        part = _ENGINE_PARTS.get(problem.part, problem.part) if problem.option is None else "key"
        place = origin.place(origin.of_engine[problem.index], part)
    else:  # A change of an option that follows from the declaration.
        place = _place_in_result(("options", problem.option or problem.part), origin, after)
    return _told(problem, place, field=problem.field)


def table_problem(problem: FieldProblem, origin: Origin, after: TableSpec) -> FieldProblem:
    """Return a problem of the declaration that would come of the changes."""
    place = _place_in_result(_parts(problem.pointer), origin, after)
    if place:
        return problem.model_copy(
            update={"pointer": json_pointer(place), "field": field_path(place)}
        )
    return problem.model_copy(update={"pointer": None, "field": f"table.{problem.field}"})


def stream_problem(
    problem: FieldProblem, stream: str, origin: Origin, after: TableSpec
) -> FieldProblem:
    """Return a problem that a registered stream would have with the table that comes of it."""
    message = f"the stream `{stream}` would be wrong: {problem.message}"
    index = origin.of_column.get(problem.value or "")
    place: JsonPath = () if index is None else origin.place(index, "column")
    return FieldProblem(
        pointer=json_pointer(place) if place else None,
        field=field_path(place) if place else f"streams.{stream}.{problem.field}",
        value=problem.value,
        message=message,
        hint=problem.hint,
    )


def column_problem(
    origin: Origin, column: str, part: str, *, value: str, message: str, hint: str
) -> FieldProblem:
    """Return a problem of the change that a column has gone through."""
    index = origin.of_column.get(column)
    if index is None:
        return FieldProblem(
            pointer=None, field=f"table.columns.{column}", value=value, message=message, hint=hint
        )
    return problem_at(*origin.place(index, part), value=value, message=message, hint=hint)


def _place_in_result(parts: JsonPath, origin: Origin, after: TableSpec) -> JsonPath:
    match parts:
        case ("columns", int(index), *rest) if index < len(after.columns):
            found = origin.of_column.get(after.columns[index].name)
            tail = str(rest[0]) if rest else ""
            part = "column" if tail == "name" else tail
        case ("sequence_groups", int(index), *_) if index < len(after.sequence_groups):
            found, part = origin.of_group.get(after.sequence_groups[index].name), "columns"
        case ("options", key, *_):
            found, part = origin.of_option.get(str(key)), "key"
        case _:
            return ()
    return () if found is None else origin.place(found, part)


def _result_place(name: str, after: TableSpec) -> JsonPath:
    if name in after.column_names:
        return ("columns", after.column_names.index(name), "name")
    column = name.removeprefix("fields.").partition(".")[0]
    if name.startswith("fields.") and column in after.column_names:
        return ("columns", after.column_names.index(column), "aggregate")
    return ("options", name)


def _told(problem: Problem, place: JsonPath, *, field: str) -> FieldProblem:
    return FieldProblem(
        pointer=json_pointer(place) if place else None,
        field=field_path(place) if place else f"table.{field}",
        value=problem.value,
        message=problem.message,
        hint=problem.hint,
    )


def _parts(pointer: str | None) -> JsonPath:
    """Return the parts of an RFC 6901 pointer; whole numbers are indexes."""
    if not pointer:
        return ()
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return tuple(int(part) if _INDEX.fullmatch(part) else part for part in parts)
