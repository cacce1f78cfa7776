"""Rules for lookup indexes: names, declared columns whose values can be compared, and functions that choose a value.

Pure. An index finds rows by the records of their keys, so the merged value of an indexed column has to be that of a record:
functions that choose a value, such as max, are allowed, and functions that compute one, such as sum, are not.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake import TypeRoot
from braid.registry import names
from braid.registry.layout.column_functions import column_functions
from braid.registry.layout.declared_types import parsed_type
from braid.schemas import FieldProblem, LookupIndexSpec, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

CHOOSING_FUNCTIONS: Final = frozenset(
    {
        "bool_and",
        "bool_or",
        "first_non_null_value",
        "first_value",
        "last_non_null_value",
        "last_value",
        "max",
        "min",
    }
)
"""Aggregate functions whose value is always the value of a record, or null."""

_NOT_COMPARED: Final = frozenset(
    {
        TypeRoot.ARRAY,
        TypeRoot.DOUBLE,
        TypeRoot.FLOAT,
        TypeRoot.MAP,
        TypeRoot.MULTISET,
        TypeRoot.ROW,
        TypeRoot.VARIANT,
    }
)


def check_lookup_indexes(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the table's lookup indexes."""
    paths = [("lookup_indexes", index, "name") for index in range(len(spec.lookup_indexes))]
    found = [one.name for one in spec.lookup_indexes]
    yield from names.check_distinct(found, paths, kind="lookup index")
    for index, one in enumerate(spec.lookup_indexes):
        yield from names.check_name(one.name, "lookup_indexes", index, "name", kind="lookup index")
        yield from _check_columns(spec, one, index)


def _check_columns(spec: TableSpec, one: LookupIndexSpec, index: int) -> Iterator[FieldProblem]:
    types = {column.name: parsed_type(column.type) for column in spec.columns}
    functions = column_functions(spec)
    for position, name in enumerate(one.columns):
        path = ("lookup_indexes", index, "columns", position)
        if name in one.columns[:position]:
            yield problem_at(*path, value=name, message="the index has the column already")
        if name not in types:
            hint = f"columns: {quoted_list(types)}"
            yield problem_at(*path, value=name, message="no such column", hint=hint)
            continue
        data_type = types[name]
        if data_type is not None and data_type.root in _NOT_COMPARED:
            yield problem_at(
                *path,
                value=name,
                message=f"rows cannot be found by a {data_type.root.value}",
                hint="index columns of integers, DECIMAL, texts, bytes, BOOLEAN, dates or times",
            )
        function = functions.get(name)
        if function is not None and function.function not in CHOOSING_FUNCTIONS:
            yield problem_at(
                *path,
                value=name,
                message=f"the function `{function.function}` computes values that no record has, and an index finds rows by "
                "the values of records",
                hint=f"index columns without a function, or with one of {quoted_list(sorted(CHOOSING_FUNCTIONS))}",
            )
