"""Rules for the aggregate functions of a declared table.

Pure. The engine's validator knows the functions and their arguments; these rules are about the
declaration, and about order:

1. Only aggregation and partial-update tables have functions.
2. An option that has a field of its own in the declaration is not given in `options`.
3. The name of a nested field contains no comma, and no blanks around it.
4. In a sequence group a function gives the same value in any order of arrival, or the column or the table accepts
   that risk with `unordered: allowed`. `last_value` is such a function, because the group's order decides which value
   is the last. (An aggregation table with one stream has one order; `aggregation_table_rules` has the rules
   for several.)
"""

from collections.abc import Iterator

from braid.registry.layout.column_functions import (
    FUNCTION_ENGINES,
    LAST_VALUE,
    column_functions,
    order_hint,
    why_order_matters,
)
from braid.registry.layout.declared_types import parsed_type
from braid.schemas import (
    OPTION_OF_FIELD,
    AggregateSpec,
    FieldProblem,
    MergeEngine,
    TableSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list
from braid.schemas.problem import JsonPath

_FIELD_OF_OPTION = {option: field for field, option in OPTION_OF_FIELD.items()}


def check_aggregate_functions(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the declared aggregate functions."""
    yield from _check_engine(spec)
    for index, column in enumerate(spec.columns):
        if column.aggregate is not None:
            yield from _check_options(column.aggregate, index)
    yield from _check_order(spec)


def function_path(spec: TableSpec, column: str) -> JsonPath:
    """Return the path of the declaration of a column's function: in the column, or the table's default."""
    index = spec.column_names.index(column)
    if spec.columns[index].aggregate is not None:
        return ("columns", index, "aggregate", "function")
    return ("columns", index, "name") if spec.default_aggregate is None else ("default_aggregate",)


def _check_engine(spec: TableSpec) -> Iterator[FieldProblem]:
    if spec.merge_engine in FUNCTION_ENGINES:
        return
    declared: list[tuple[JsonPath, str]] = [
        (("columns", index, "aggregate"), column.aggregate.function)
        for index, column in enumerate(spec.columns)
        if column.aggregate is not None
    ]
    if spec.default_aggregate is not None:
        declared.append((("default_aggregate",), spec.default_aggregate))
    for path, function in declared:
        yield problem_at(
            *path,
            value=function,
            message=f"a {spec.merge_engine.value} table has no aggregate functions",
            hint="use merge_engine `aggregation`, or `partial-update` with sequence groups",
        )


def _check_options(aggregate: AggregateSpec, index: int) -> Iterator[FieldProblem]:
    path = ("columns", index, "aggregate")
    for key, value in aggregate.options.items():
        if key in _FIELD_OF_OPTION:
            hint = f"use `{_FIELD_OF_OPTION[key]}`"
        elif key in ("aggregate-function", "sequence-group"):
            hint = "use `function`" if key == "aggregate-function" else "use `sequence_groups`"
        else:
            continue
        message = "a field of the declaration sets this"
        yield problem_at(*path, "options", key, value=value, message=message, hint=hint)
    for field in ("nested_key", "nested_sequence"):
        for position, name in enumerate(getattr(aggregate, field) or ()):
            if "," in name or name != name.strip() or not name:
                yield problem_at(
                    *path,
                    field,
                    position,
                    value=name,
                    message="expected one field name, without commas and without blanks around it",
                    hint="name each field on its own",
                )


def _check_order(spec: TableSpec) -> Iterator[FieldProblem]:
    if spec.merge_engine is not MergeEngine.PARTIAL_UPDATE:
        return
    allowed = spec.unordered_columns
    grouped = {name: group.name for group in spec.sequence_groups for name in group.columns}
    declared = {column.name: column.type for column in spec.columns}
    for column, function in column_functions(spec).items():
        if column not in grouped or column in allowed or function.function == LAST_VALUE:
            continue
        data_type = parsed_type(declared[column])
        if data_type is None:
            continue
        reason = why_order_matters(function.function, data_type)
        if reason is not None:
            yield problem_at(
                *function_path(spec, column),
                value=function.function,
                message=f"{reason}: the group {quoted_list([grouped[column]])} orders records, "
                "but late records are combined in the order of arrival",
                hint=order_hint(function.function),
            )
