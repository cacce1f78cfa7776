"""Locations of problems in a request for schema changes, for problems that the rules find in the changed table.

Pure. The rules check the changed table and its streams, and name fields of these. But the client can only edit its
request. `Origin` maps such a field to the change that caused it. A problem that no single change has caused has the
field of the declaration, and no pointer into the request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from braid.lake import ChangeProblem, Problem
from braid.schemas import FieldProblem, TableChange, TableSpec
from braid.schemas.field_problems import field_path, json_pointer, problem_at
from braid.schemas.problem import JsonPath

_REQUEST_PARTS: Final[Mapping[str, str]] = {
    "name": "column",
    "path": "column",
    "neighbour": "position",
    "default_value": "default",
    "keep_nullability": "type",
}
"""The part of a requested change by the name of the part in the engine's, where they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The changes of a request, found by what they change.

    Attributes:
        requested: The changes as requested; empty where there is no request: problems then have no
            pointers.
        of_engine: For each of the engine's changes, the index of the requested one.
        of_column: Index of the requested change by the column's name after all changes.
        of_group: Index of the requested change by the sequence group's name.
        of_option: Index of the requested change by the option's key.
    """

    requested: tuple[TableChange, ...] = ()
    of_engine: tuple[int, ...] = ()
    of_column: Mapping[str, int] = field(default_factory=dict)
    of_group: Mapping[str, int] = field(default_factory=dict)
    of_option: Mapping[str, int] = field(default_factory=dict)

    def path(self, index: int, part: str) -> JsonPath:
        """Return the path of a part of a requested change; the path of the change if it has no such part."""
        assert 0 <= index < len(self.requested), "an origin is a requested change"
        path: JsonPath = ("changes", index)
        has_part = part in type(self.requested[index]).model_fields
        return (*path, part) if has_part else path


def engine_problem(problem: Problem, origin: Origin, after: TableSpec) -> FieldProblem:
    """Return a problem that the engine finds in its changes, or in the schema they lead to.

    Args:
        problem: The problem as the engine raises it.
        origin: The requested changes, to locate problems.
        after: The declaration after all changes.
    """
    if not isinstance(problem, ChangeProblem):
        path = _path_in_request(_path_in_declaration(problem.field, after), origin, after)
    elif problem.index < len(origin.of_engine):
        part = _REQUEST_PARTS.get(problem.part, problem.part) if problem.option is None else "key"
        path = origin.path(origin.of_engine[problem.index], part)
    else:  # Behind the requested changes come those of options that follow from the declaration.
        path = _path_in_request(("options", problem.option or problem.part), origin, after)
    return FieldProblem(
        pointer=json_pointer(path) if path else None,
        field=field_path(path) if path else f"table.{problem.field}",
        path=path,
        value=problem.value,
        message=problem.message,
        hint=problem.hint,
    )


def table_problem(problem: FieldProblem, origin: Origin, after: TableSpec) -> FieldProblem:
    """Return a problem of the declaration that the changes lead to.

    Args:
        problem: The problem as the rules for tables find it.
        origin: The requested changes, to locate problems.
        after: The declaration after all changes.
    """
    path = _path_in_request(problem.path, origin, after)
    pointer = json_pointer(path) if path else None
    field = field_path(path) if path else f"table.{problem.field}"
    return problem.model_copy(update={"pointer": pointer, "field": field, "path": path})


def stream_problem(problem: FieldProblem, stream: str, origin: Origin) -> FieldProblem:
    """Return a problem that a registered stream would have with the declaration after all changes.

    Args:
        problem: The problem as the rules for streams find it; its value names the column.
        stream: The stream's name.
        origin: The requested changes, to locate problems.
    """
    index = origin.of_column.get(problem.value or "")
    path: JsonPath = () if index is None else origin.path(index, "column")
    return FieldProblem(
        pointer=json_pointer(path) if path else None,
        field=field_path(path) if path else f"streams.{stream}.{problem.field}",
        path=path,
        value=problem.value,
        message=f"the stream `{stream}` would be invalid: {problem.message}",
        hint=problem.hint,
    )


def column_problem(
    origin: Origin, column: str, part: str, *, value: str, message: str, hint: str
) -> FieldProblem:
    """Return a problem of a column, located at the last change of the column.

    Args:
        origin: The requested changes, to locate problems.
        column: The column's name after all changes.
        part: The part of that change that is wrong.
        value: What was found.
        message: What is wrong and what was expected.
        hint: How to fix it.
    """
    index = origin.of_column.get(column)
    if index is None:
        return FieldProblem(
            pointer=None, field=f"table.columns.{column}", value=value, message=message, hint=hint
        )
    return problem_at(*origin.path(index, part), value=value, message=message, hint=hint)


def _path_in_request(path: JsonPath, origin: Origin, after: TableSpec) -> JsonPath:
    """Return the path of the last change of a field of the declaration; empty if there is none."""
    match path:
        case ("columns", int(position), *rest) if position < len(after.columns):
            index = origin.of_column.get(after.columns[position].name)
            tail = str(rest[0]) if rest else ""
            part = "column" if tail == "name" else tail
        case ("sequence_groups", int(position), *_) if position < len(after.sequence_groups):
            index, part = origin.of_group.get(after.sequence_groups[position].name), "columns"
        case ("options", key, *_):
            index, part = origin.of_option.get(str(key)), "key"
        case _:
            return ()
    return () if index is None else origin.path(index, part)


def _path_in_declaration(field: str, after: TableSpec) -> JsonPath:
    """Return the path of a field that the engine names by a column or by the key of an option."""
    if field in after.column_names:
        return ("columns", after.column_names.index(field), "name")
    column = field.removeprefix("fields.").partition(".")[0]
    if field.startswith("fields.") and column in after.column_names:
        return ("columns", after.column_names.index(column), "aggregate")
    return ("options", field)
