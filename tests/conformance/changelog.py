"""Comparison of the changes that an engine returns with those of a case."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from braid.lake import Changes
from tests.conformance.compare import Row, canonical_rows, without_order
from tests.conformance.values import sort_key, to_json

SYMBOLS = ("+I", "-U", "+U", "-D")
"""Kinds by the byte that data files store."""


def changelog_difference(
    expected: Sequence[Any],
    changes: Changes,
    *,
    schema: pa.Schema,
    key: Sequence[str],
    hints: Mapping[str, str],
) -> str | None:
    """Return in words how changes differ from the expected ones, None when they do not.

    Args:
        expected: `[[snapshot, [[kind, values…],…]],…]`; snapshots without changes are absent.
        changes: Of the snapshots in question, all columns.
        schema: Names, order and types of the columns.
        key: Primary key: rows are compared by key, those of a key in their order.
        hints: The case's `compare`.
    """
    wanted = {number: _expected_rows(rows, schema) for number, rows in expected}
    found = {part.snapshot_id: _rows(part.to_arrow()) for part in changes}
    if list(wanted) != list(found):
        return f"changes of snapshots {list(found)}, expected {list(wanted)}"
    for number, rows in wanted.items():
        left, right = (
            _by_key([_without_order(row, schema, hints) for row in some], schema, key)
            for some in (rows, found[number])
        )
        if left != right:
            return f"changes of snapshot {number}: {_first_difference(left, right)}"
    return None


def _expected_rows(rows: Sequence[Row], schema: pa.Schema) -> list[Row]:
    values = canonical_rows([row[1:] for row in rows], schema)
    return [[row[0], *cells] for row, cells in zip(rows, values, strict=True)]


def _rows(table: pa.Table) -> list[Row]:
    kinds, *columns = (to_json(column) for column in table.columns)
    return [[SYMBOLS[kind], *row] for kind, *row in zip(kinds, *columns, strict=True)]


def _without_order(row: Row, schema: pa.Schema, hints: Mapping[str, str]) -> Row:
    return [row[0], *without_order(row[1:], schema.names, hints)]


def _by_key(rows: Sequence[Row], schema: pa.Schema, key: Sequence[str]) -> list[str]:
    """Return the rows as text, by key, those of a key as they came."""
    places = [schema.names.index(name) + 1 for name in key]
    ordered = sorted(rows, key=lambda row: sort_key([row[place] for place in places]))
    return [sort_key(row) for row in ordered]


def _first_difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    for one, other in zip(wanted, found, strict=False):
        if one != other:
            return f"expected {one}, got {other}"
    longer, what = (wanted, "missing") if len(wanted) > len(found) else (found, "besides")
    return f"{what}: {longer[min(len(wanted), len(found))]}"
