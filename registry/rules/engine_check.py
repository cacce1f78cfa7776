"""The engine's own checks of a declared table, told in the words of the declaration.

Pure: the table is put into the words of the table format and checked there; each problem is led
back to the field that it comes from.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from lake import (
    InvalidRequest,
    Problem,
    TableSchema,
    check_compactable,
    check_supported,
    check_writable,
    dormant_options,
    highest_field_id,
    validate_schema,
)
from registry.layout.delete_options import (
    DELETE_RETENTION,
    DELETE_TIME_FIELDS,
    NULL_DELETES,
    NULL_DELETES_KEPT,
    NULL_DELETES_MARKS,
)
from registry.layout.physical_table import physical_groups, physical_table
from schemas import OPTION_OF_FIELD, FieldProblem, TableSpec
from schemas.field_problems import problem_at
from schemas.problem import JsonPath

FIELD_OF_OPTION: Final[Mapping[str, str]] = {
    "bucket": "buckets",
    "merge-engine": "merge_engine",
    "primary-key": "primary_key",
    "partition": "partition_keys",
    "ignore-delete": "deletes",
    "deduplicate.ignore-delete": "deletes",
    "first-row.ignore-delete": "deletes",
    "partial-update.ignore-delete": "deletes",
    "partial-update.remove-record-on-delete": "deletes",
    "partial-update.remove-record-on-sequence-group": "deletes",
    "aggregation.remove-record-on-delete": "deletes",
    "braid.defaults-by-group": "columns",
    NULL_DELETES: "deletes",
    NULL_DELETES_KEPT: "deletes",
    NULL_DELETES_MARKS: "deletes",
    DELETE_RETENTION: "delete_retention",
    DELETE_TIME_FIELDS: "delete_retention",
    "fields.default-aggregate-function": "default_aggregate",
}
"""Options of the table format that a field of the declaration speaks for."""

_NAMED_COLUMN: Final = re.compile(r"column `([^`]*)`")
_FIELD_OF_COLUMN_OPTION: Final = {
    "aggregate-function": "function",
    **{option: field for field, option in OPTION_OF_FIELD.items()},
}


def check_with_engine(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield what the engine finds wrong with the table, options without effect included.

    Args:
        spec: A declaration whose types can be read, names and groups being right.
    """
    definition = physical_table(spec)
    schema = TableSchema(
        id=0,
        fields=definition.columns,
        highest_field_id=highest_field_id(definition.columns),
        partition_keys=definition.partition_keys,
        primary_keys=definition.primary_key,
        options=definition.options,
        comment=definition.comment,
    )
    # The checks overlap: an option that cannot be read fails each of them, in the same words.
    problems: dict[Problem, None] = {}
    for check in (check_supported, check_writable, validate_schema):
        problems.update(dict.fromkeys(_problems_of(check, schema)))
    # A table that cannot be compacted grows for good, and its options cannot be changed any more.
    problems = problems or dict.fromkeys(_problems_of(check_compactable, schema))
    # The engine accepts options without effect; in a declaration of names and values they are
    # mistakes. They can be told only where the options can be read at all.
    places = _Places(spec)
    for problem in problems or dormant_options(schema):
        yield problem_at(
            *places.of(problem), value=problem.value, message=problem.message, hint=problem.hint
        )


def _problems_of(check: Callable[[TableSchema], None], schema: TableSchema) -> Sequence[Problem]:
    try:
        check(schema)
    except InvalidRequest as error:
        return error.problems or [Problem(field="", value=None, message=str(error))]
    return ()


class _Places:
    """Leads a problem of the engine back to the declaration; what is looked up is made once."""

    def __init__(self, spec: TableSpec) -> None:
        self._columns = spec.columns
        # Of a name that is declared twice, the first.
        self._positions = {name: at for at, name in reversed(list(enumerate(spec.column_names)))}
        self._groups: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        for at, group in enumerate(physical_groups(spec)):
            for name in (group.option[0], *group.generated_columns):
                self._groups.setdefault(name, at)
        for at, column in enumerate(spec.columns):
            if column.aggregate is not None:
                self._functions.setdefault(column.aggregate.function, at)

    def of(self, problem: Problem) -> JsonPath:
        """Return where in the declaration the engine's field comes from."""
        field = problem.field
        if field in FIELD_OF_OPTION:
            return (FIELD_OF_OPTION[field],)
        if field in self._positions:
            return ("columns", self._positions[field], "name")
        if field in self._groups:
            return ("sequence_groups", self._groups[field])
        if field == "columns":
            return self._of_column(problem)
        if field in ("", "primary_key", "partition_keys"):
            return (field,) if field else ()
        column, _, option = field.removeprefix("fields.").partition(".")
        if field.startswith("fields.") and column in self._positions:
            return self._of_function(column, option)
        # A function whose package is broken is told by its name.
        if problem.value is not None and "." in problem.value and problem.value in self._functions:
            return ("columns", self._functions[problem.value], "aggregate", "function")
        return ("options", field)

    def _of_column(self, problem: Problem) -> JsonPath:
        """Return the place of a type that is too deep, or of a default that is no value."""
        at = None if problem.value is None else self._positions.get(problem.value)
        if at is not None:
            return ("columns", at, "type")
        named = _NAMED_COLUMN.search(problem.message)
        at = None if named is None else self._positions.get(named.group(1))
        if at is not None and self._columns[at].default is not None:
            return ("columns", at, "default")
        return ("columns",)

    def _of_function(self, column: str, option: str) -> JsonPath:
        at = self._positions[column]
        if self._columns[at].aggregate is None:
            return ("default_aggregate",)
        known = _FIELD_OF_COLUMN_OPTION.get(option)
        return ("columns", at, "aggregate", *((known,) if known else ("options", option)))
