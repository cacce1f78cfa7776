"""Comparison of the rows of an engine with the rows of a case."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from tests.conformance.values import Json, canonical, sort_key, to_json

Row = list[Json]


def difference(
    expected: Sequence[Row], actual: pa.Table, *, schema: pa.Schema, hints: Mapping[str, str]
) -> str | None:
    """Return in words how a read differs from the expected rows, None when it does not.

    Rows are compared as a multiset: the order of rows is no part of a result. Types are compared too.

    Args:
        expected: Rows of JSON values, positional in `schema`.
        actual: What the engine returned.
        schema: Names, order and types that the result must have.
        hints: The case's `compare`: columns whose arrays have no order of their own.
    """
    if actual.schema.names != schema.names:
        return f"columns {actual.schema.names}, expected {schema.names}"
    for field, found in zip(schema, actual.schema, strict=True):
        if not _same_type(field.type, found.type):
            return f"column {field.name!r} has type {found.type}, expected {field.type}"
    wanted = canonical_rows(expected, schema)
    found_rows = _rows([to_json(column) for column in actual.columns], actual.num_rows)
    return _multiset_difference(
        [without_order(row, schema.names, hints) for row in wanted],
        [without_order(row, schema.names, hints) for row in found_rows],
    )


def _columns(rows: Sequence[Row], schema: pa.Schema) -> list[tuple[list[Json], pa.Field]]:
    return [([row[index] for row in rows], field) for index, field in enumerate(schema)]


def _rows(columns: Sequence[Sequence[Json]], row_count: int = 0) -> list[Row]:
    if not columns:
        return [[] for _ in range(row_count)]
    return [list(row) for row in zip(*columns, strict=True)]


def _same_type(expected: pa.DataType, actual: pa.DataType) -> bool:
    # Nullability and the names of list and map children are not values; text compares without them.
    return _type_text(expected) == _type_text(actual)


def _type_text(arrow_type: pa.DataType) -> str:
    if pa.types.is_map(arrow_type):
        return f"map<{_type_text(arrow_type.key_type)}, {_type_text(arrow_type.item_type)}>"
    if pa.types.is_list(arrow_type):
        return f"list<{_type_text(arrow_type.value_type)}>"
    if pa.types.is_struct(arrow_type):
        fields = [arrow_type.field(index) for index in range(arrow_type.num_fields)]
        return "struct<" + ", ".join(f"{f.name}: {_type_text(f.type)}" for f in fields) + ">"
    return str(arrow_type)


def canonical_rows(rows: Sequence[Row], schema: pa.Schema) -> list[Row]:
    """Return rows, positional in the schema, with each value in the form that equal values share."""
    return _rows([canonical(column, field.type) for column, field in _columns(rows, schema)])


def without_order(row: Row, names: Sequence[str], hints: Mapping[str, str]) -> Row:
    """Return a row whose arrays without an order of their own are sorted."""
    return [
        sorted(cell, key=sort_key)
        if hints.get(name) == "multiset" and isinstance(cell, list)
        else cell
        for name, cell in zip(names, row, strict=True)
    ]


def _multiset_difference(expected: Sequence[Row], actual: Sequence[Row]) -> str | None:
    wanted, found = Counter(map(sort_key, expected)), Counter(map(sort_key, actual))
    if wanted == found:
        return None
    missing, surplus = list((wanted - found).elements()), list((found - wanted).elements())
    return f"expected {_few(missing)}, got {_few(surplus)}"


def _few(rows: Sequence[str], limit: int = 2) -> str:
    if not rows:
        return "no such row"
    more = f" and {len(rows) - limit} more" if len(rows) > limit else ""
    return " ".join(rows[:limit]) + more
