"""Rows that pass a filter: the same ones in one step and in two, with little decoded."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.lake.files.row_filters import RowFilter, filtered_rows

# Four row groups of a file; the condition is on a column that is not among the result's.
PARTS = [[0, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0]]


class GivenFile:
    """Decodes row groups, and records which columns of which."""

    def __init__(self) -> None:
        self.decoded: list[tuple[int, tuple[str, ...]]] = []

    def decode(self, parts: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            self.decoded.append((part, tuple(names)))
            flags = PARTS[part]
            columns = {
                "flag": pa.array(flags),
                "row": pa.array([10 * part + place for place in range(len(flags))]),
                "twice": pa.array([20 * part + 2 * place for place in range(len(flags))]),
            }
            whole = pa.RecordBatch.from_pydict({name: columns[name] for name in names})
            # Another number of columns comes in other batches.
            yield from (whole.slice(0, len(names)), whole.slice(len(names)))


FLAGGED = RowFilter(columns=("flag",), matches=lambda batch: pc.equal(batch.column("flag"), 1))


@pytest.mark.parametrize("in_steps", [True, False])
def test_passing_rows_come_in_order_with_the_requested_columns(in_steps: bool) -> None:
    found = filtered_rows(
        GivenFile().decode, [0, 1, 2, 3], ["twice", "row"], FLAGGED, in_steps=in_steps
    )

    rows = pa.Table.from_batches(found).to_pylist()
    assert rows == [{"twice": 2 * row, "row": row} for row in (11, 20, 21, 22)]


def test_a_part_without_passing_rows_is_decoded_for_the_filter_only() -> None:
    file = GivenFile()

    list(filtered_rows(file.decode, [0, 1, 2, 3], ["row"], FLAGGED, in_steps=True))

    both = ("row", "flag")
    assert file.decoded == [
        (0, ("flag",)),
        (1, ("flag",)),
        (1, ("row",)),
        (2, both),  # what follows a part with such rows has them, too, more often than not
        (3, both),
    ]


def test_after_a_part_without_passing_rows_the_next_is_read_in_two_steps() -> None:
    file = GivenFile()

    list(filtered_rows(file.decode, [1, 0, 3], ["row"], FLAGGED, in_steps=True))

    assert file.decoded[-2:] == [(0, ("row", "flag")), (3, ("flag",))]


def test_a_part_that_statistics_have_kept_is_read_in_one_step() -> None:
    file = GivenFile()

    list(filtered_rows(file.decode, [1, 3], ["row"], FLAGGED, in_steps=True, is_likely=True))

    assert file.decoded == [(1, ("row", "flag")), (3, ("row", "flag"))]
