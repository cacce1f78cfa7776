"""The engine's own checks of a declared table, with problems located in the declaration.

Pure. The checks run on the physical table. They also find options without effect, which the engine itself accepts. Each
problem is mapped to the field of the declaration that causes it (`FIELD_OF_OPTION`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from braid.lake import (
    ColumnProblem,
    InvalidRequest,
    Problem,
    TableSchema,
    check_compactable,
    check_supported,
    check_writable,
    highest_field_id,
    ineffective_options,
    validate_schema,
)
from braid.registry.layout.delete_options import (
    DELETE_RETENTION,
    DELETE_TIME_FIELDS,
    NULL_DELETES,
    NULL_DELETES_KEPT,
    NULL_DELETES_MARKS,
)
from braid.registry.layout.expiry_options import EXPIRE_TIME, TIME_FIELD
from braid.registry.layout.physical_table import physical_groups, physical_table
from braid.schemas import OPTION_OF_FIELD, FieldProblem, TableSpec
from braid.schemas.field_problems import problem_at
from braid.schemas.problem import JsonPath

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
    EXPIRE_TIME: "row_ttl",
    TIME_FIELD: "row_ttl",
    "fields.default-aggregate-function": "default_aggregate",
}
"""The field of the declaration that sets an option of the table format, by the option's key."""

_FIELD_OF_COLUMN_OPTION: Final = {
    "aggregate-function": "function",
    **{option: field for field, option in OPTION_OF_FIELD.items()},
}


def check_with_engine(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems that the engine finds in the table, options without effect included.

    Args:
        spec: A declaration that breaks no other rule for tables.
    """
    layout = physical_table(spec)
    schema = TableSchema(
        id=0,
        fields=layout.columns,
        highest_field_id=highest_field_id(layout.columns),
        partition_keys=layout.partition_keys,
        primary_keys=layout.primary_key,
        options=layout.options,
        comment=layout.comment,
    )
    # The checks overlap: each of them reports an option that cannot be parsed, with the same problem.
    problems: dict[Problem, None] = {}
    for check in (check_supported, check_writable, validate_schema):
        problems.update(dict.fromkeys(_problems_of(check, schema)))
    # A table that cannot be compacted grows forever, and many of its options cannot be changed any more.
    problems = problems or dict.fromkeys(_problems_of(check_compactable, schema))
    # The engine accepts options without effect; in a declaration they are mistakes. They are known
    # only if all options can be parsed.
    paths = _DeclarationPaths(spec)
    for problem in problems or ineffective_options(schema):
        yield problem_at(
            *paths.of(problem), value=problem.value, message=problem.message, hint=problem.hint
        )


def _problems_of(check: Callable[[TableSchema], None], schema: TableSchema) -> Sequence[Problem]:
    try:
        check(schema)
    except InvalidRequest as error:
        return error.problems or [Problem(field="", value=None, message=str(error))]
    return ()


class _DeclarationPaths:
    """Paths in the declaration for problems of the engine; its indexes are built once."""

    def __init__(self, spec: TableSpec) -> None:
        self._columns = spec.columns
        # Reversed, so that a repeated name leads to its first column.
        self._positions = {name: at for at, name in reversed(list(enumerate(spec.column_names)))}
        self._groups: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        for at, group in enumerate(physical_groups(spec)):
            for name in (*group.options, *group.generated_columns):
                self._groups.setdefault(name, at)
        for at, column in enumerate(spec.columns):
            if column.aggregate is not None:
                self._functions.setdefault(column.aggregate.function, at)

    def of(self, problem: Problem) -> JsonPath:
        """Return the path in the declaration that the field of an engine's problem comes from."""
        field = problem.field
        if isinstance(problem, ColumnProblem) and problem.column in self._positions:
            return ("columns", self._positions[problem.column], problem.part)
        if field in FIELD_OF_OPTION:
            return (FIELD_OF_OPTION[field],)
        if field in self._positions:
            return ("columns", self._positions[field], "name")
        if field in self._groups:
            return ("sequence_groups", self._groups[field])
        if field in ("", "columns", "primary_key", "partition_keys"):
            return (field,) if field else ()
        column, _, option = field.removeprefix("fields.").partition(".")
        if field.startswith("fields.") and column in self._positions:
            return self._of_function(column, option)
        # The problem of a function whose package is broken has the function's name as its value.
        if problem.value is not None and "." in problem.value and problem.value in self._functions:
            return ("columns", self._functions[problem.value], "aggregate", "function")
        return ("options", field)

    def _of_function(self, column: str, option: str) -> JsonPath:
        at = self._positions[column]
        if self._columns[at].aggregate is None:
            return ("default_aggregate",)
        known = _FIELD_OF_COLUMN_OPTION.get(option)
        return ("columns", at, "aggregate", *((known,) if known else ("options", option)))
