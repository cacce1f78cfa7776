"""Lookups without a copy decode the row groups that may have the keys, and no others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.files.row_filters import RowGroupFilter
from braid.lake.read.lookup.row_group_lookup import RowGroupLookup
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys

ROWS = 50
GROUPS = 8
NUMBERS = np.arange(0, 2 * ROWS * GROUPS, 2)


def columns_of(kind: str, numbers: Sequence[int]) -> dict[str, pa.Array]:
    """Return keys that sort as numbers do."""
    texts = [f"key {number:05}" for number in numbers]
    if kind == "text":
        return {"s": pa.array(texts, pa.string())}
    if kind == "number":
        return {"n": pa.array(numbers, pa.int64())}
    if kind == "double":
        return {"d": pa.array(numbers, pa.float64())}
    tens = [number // 100 for number in numbers]
    return {"n": pa.array(tens, pa.int32()), "s": pa.array(texts, pa.string())}


@dataclass(kw_only=True)
class GivenRows:
    """Even numbers as keys, in row groups, with bounds unless they are doubles."""

    kind: str
    unknown: int | None = None
    decoded: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = pa.table(columns_of(self.kind, NUMBERS.tolist()))

    def parts(
        self, columns: Sequence[str], row_filter: RowGroupFilter
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        groups = [self.table.slice(ROWS * number, ROWS) for number in range(GROUPS)]
        bounds = {
            name: ColumnBounds(
                minima=self._bounds([pc.min(group.column(name)) for group in groups]),
                maxima=self._bounds([pc.max(group.column(name)) for group in groups]),
                null_counts=np.zeros(GROUPS, np.int64),
                row_counts=np.full(GROUPS, ROWS, np.int64),
            )
            for name in row_filter.columns
            if self.kind != "double"
        }
        kept = row_filter.keep(bounds, GROUPS)
        for number in np.flatnonzero(kept).tolist():
            self.decoded.append(number)
            [batch] = groups[number].select(list(columns)).combine_chunks().to_batches()
            yield ROWS * number, batch

    def rows_at(self, columns: Sequence[str], positions: Rows) -> tuple[pa.Table, int, int]:
        raise NotImplementedError

    def _bounds(self, values: list[pa.Scalar]) -> pa.Array:
        plain = [
            None if number == self.unknown else value.as_py() for number, value in enumerate(values)
        ]
        return pa.array(plain, values[0].type)


def find(rows: GivenRows, *numbers: int) -> list[tuple[int, int]]:
    """Return pairs of a wanted number and the position where it was found."""
    keys = WantedKeys(columns=tuple(columns_of(rows.kind, [-1, *numbers]).values()))
    names = tuple(columns_of(rows.kind, [0]))
    lookup = RowGroupLookup(rows, key_columns=names, on_read=lambda _rows, _size: None)
    # The first of the keys is not looked for.
    found, positions = lookup.find_matches(keys, np.arange(1, len(numbers) + 1))
    assert found.tolist() == sorted(found.tolist())
    return [(numbers[key], place) for key, place in zip(found, positions.tolist(), strict=True)]


@pytest.mark.parametrize("kind", ["number", "text", "several", "double"])
def test_keys_are_found_at_their_positions(kind: str) -> None:
    wanted = [742, 8, 8, 9, 0, 798, 800, 5_000, 400]

    found = find(GivenRows(kind=kind), *wanted)

    assert found == [(n, n // 2) for n in wanted if n in NUMBERS]


@pytest.mark.parametrize("kind", ["number", "text", "several"])
def test_only_row_groups_that_may_have_a_key_are_decoded(kind: str) -> None:
    rows = GivenRows(kind=kind)

    assert find(rows, 742, 8) == [(742, 371), (8, 4)]
    assert rows.decoded == [0, 7]
    rows.decoded.clear()
    assert find(rows, 9_000) == []
    assert rows.decoded == []


def test_a_row_group_without_bounds_may_have_any_key() -> None:
    rows = GivenRows(kind="text", unknown=3)

    assert find(rows, 8, 302) == [(8, 4), (302, 151)]
    assert rows.decoded == [0, 3]
