"""Rules for aggregate functions of a table: names, column types, options.

The reference finds these problems when it first uses a function; here the declaration is refused:

| rule | engines |
|---|---|
| every declared function exists, even if its column does not use it | both |
| the column's type is one that the function accepts | both |
| the options that the function reads are well formed, and the columns or fields that they name exist | both |
| `ignore-retract` is true or false, and not combined with `aggregation.remove-record-on-delete` | both |

"Both" are aggregation and partial-update. As in the reference, these options are not checked under other
engines, and an option that the column's function does not read is not checked under any engine.

Source: merge-semantics 2.5, 3.3 (8, 9), 4, 5.
"""

from collections.abc import Iterator

from braid.lake.declaration.rule_problems import conflict, find_field, known_names
from braid.lake.errors import LakeError, Problem
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema
from braid.lake.merge.aggregate_function import FunctionDeclaration
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.declared_options import (
    DEFAULT_FUNCTION,
    declared_functions,
    function_key,
)
from braid.lake.merge.functions.extension import (
    is_misnamed,
    is_user_function_name,
    user_function_names,
)
from braid.lake.merge.functions.registry import FUNCTIONS, function_named
from braid.lake.merge.functions.user_function_errors import error_text, user_function_errors
from braid.lake.merge.spec import effective_functions
from braid.lake.options.table_options import TableOptions

_REMOVE_ON_DELETE = "aggregation.remove-record-on-delete"


def function_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of the aggregate functions of an aggregation or partial-update table.

    Raises:
        UnsupportedFeature: A user's function cannot be loaded from its package.
    """
    for key, name in declared_functions(schema.options).items():
        if function_named(name) is None:
            yield Problem(
                field=key,
                value=name,
                message="there is no such aggregate function",
                hint=_hint(name),
            )
    functions = effective_functions(schema)
    for function in functions:
        declaration = function_named(function.name)
        if declaration is not None:
            yield from _column_problems(schema, function, declaration)
    # Java creates an aggregator for key columns as well, and checks this option then.
    retracting = [*schema.primary_keys, *(function.column for function in functions)]
    yield from _ignore_retract_problems(schema, options, retracting)


def _hint(name: str) -> str:
    if is_misnamed(name):
        return "the name of a custom function needs a dot, <namespace>.<function>"
    return known_names("functions", name, known_functions())


def known_functions() -> list[str]:
    """Return the names of all functions that a table can declare here, users' functions last."""
    return [*sorted(FUNCTIONS), *user_function_names()]


def _column_problems(
    schema: TableSchema, function: ColumnFunction, declaration: FunctionDeclaration
) -> Iterator[Problem]:
    field = find_field(schema, function.column)
    assert field is not None, function.column
    if is_user_function_name(function.name):
        yield from _user_function_problems(schema, function, declaration, field)
        return
    yield from _problems_of_column(schema, function, declaration, field)


def _user_function_problems(
    schema: TableSchema,
    function: ColumnFunction,
    declaration: FunctionDeclaration,
    field: DataField,
) -> Iterator[Problem]:
    """Yield the problems that a user's function reports, or one if its checks fail."""
    try:
        with user_function_errors(function, "its check"):
            yield from _problems_of_column(schema, function, declaration, field)
    except LakeError as error:
        cause = error.__cause__ or error
        yield Problem(
            field=function_key(schema.options, function.column) or DEFAULT_FUNCTION,
            value=function.name,
            message=f"the function's own checks fail: {error_text(cause)}",
            hint="fix `accepts` or `problems` in the package that provides the function",
        )


def _problems_of_column(
    schema: TableSchema,
    function: ColumnFunction,
    declaration: FunctionDeclaration,
    field: DataField,
) -> Iterator[Problem]:
    if not declaration.accepts(field.type):
        fitting = [name for name, other in sorted(FUNCTIONS.items()) if other.accepts(field.type)]
        yield Problem(
            field=function_key(schema.options, function.column) or DEFAULT_FUNCTION,
            value=function.name,
            message=f"column `{field.name}` is {field.type}, but `{function.name}` accepts "
            f"{declaration.accepted}",
            hint=f"functions for {field.type}: {', '.join(fitting) or 'none'}",
        )
        return
    yield from declaration.problems(field, function)


def _ignore_retract_problems(
    schema: TableSchema, options: TableOptions, columns: list[str]
) -> Iterator[Problem]:
    for column in columns:
        key = f"fields.{column}.ignore-retract"
        declared = schema.options.get(key)
        if declared is None:
            continue
        value = declared.lower()
        if value not in ("true", "false"):
            yield Problem(field=key, value=declared, message="expected true or false")
        elif value == "true" and options.aggregation_remove_record_on_delete:
            yield conflict(
                key,
                declared,
                f"{_REMOVE_ON_DELETE} = true",
                "a -D either removes the row or leaves the column alone",
            )
