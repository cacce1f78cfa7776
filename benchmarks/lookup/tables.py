"""Tables of the lookup benchmark, by type of key: one compacted bucket with a few small commits on top."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake import Catalog, Table

STRETCH_ROWS = 1_000_000
NEW_FILES = 3
NEW_ROWS = 1_000

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyKind:
    """One kind of primary key.

    Attributes:
        name: As it is printed.
        columns: Name and type of each key column.
    """

    name: str
    columns: tuple[tuple[str, str], ...]

    def keys(self, numbers: Numbers) -> pa.Table:
        """Return keys that sort as the numbers do."""
        if self.name == "integer":
            return pa.table({"id": numbers})
        if self.name == "string":
            return pa.table({"code": _codes(numbers)})
        return pa.table(
            {
                "shop": pa.array((numbers // 10_000).astype(np.int32)),
                "code": _codes(numbers % 10_000),
                "day": pa.array(np.full(len(numbers), 19_000, dtype=np.int32)).cast(pa.date32()),
            }
        )


KEY_KINDS: Sequence[KeyKind] = (
    KeyKind(name="integer", columns=(("id", "BIGINT"),)),
    KeyKind(name="string", columns=(("code", "STRING"),)),
    KeyKind(name="composite", columns=(("shop", "INT"), ("code", "STRING"), ("day", "DATE"))),
)

VALUES: Sequence[tuple[str, str]] = (
    ("version", "BIGINT"),
    ("price", "DOUBLE"),
    ("stock", "INT"),
    ("label", "STRING"),
    ("seen", "TIMESTAMP(3)"),
)


def write_table(catalog: Catalog, kind: KeyKind, *, rows: int) -> Table:
    """Create and fill a table with the keys of the even numbers below `2 * rows`."""
    table = catalog.create_table(
        f"bench.{kind.name}",
        columns=[*kind.columns, *VALUES],
        primary_key=[name for name, _ in kind.columns],
        options={"bucket": "1"},
    )
    stretches = range(0, rows, STRETCH_ROWS)
    evens = (2 * np.arange(first, min(rows, first + STRETCH_ROWS)) for first in stretches)
    write_compacted(table, (rows_of(kind, each) for each in evens))
    random = np.random.default_rng(0)
    for _ in range(NEW_FILES):
        numbers = 2 * np.sort(random.choice(rows, min(rows, NEW_ROWS), replace=False))
        table.write_and_commit(rows_of(kind, numbers))
    return table


def rows_of(kind: KeyKind, numbers: Numbers) -> pa.Table:
    """Return rows with the keys of numbers."""
    random = np.random.default_rng(int(numbers[0]))
    count = len(numbers)
    values = {
        "version": numbers,
        "price": random.random(count),
        "stock": random.integers(0, 1_000_000, count, dtype=np.int32),
        "label": pc.binary_join_element_wise(
            "label", pa.array(random.integers(0, 1 << 40, count)).cast(pa.string()), "-"
        ),
        "seen": pa.array(1_700_000_000_000 + random.integers(0, 1 << 36, count)).cast(
            pa.timestamp("ms")
        ),
    }
    keys = kind.keys(numbers)
    return pa.table({**dict(zip(keys.schema.names, keys.columns, strict=True)), **values})


def _codes(numbers: Numbers) -> pa.Array:
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 10, "0")
    return pc.binary_join_element_wise("parcel", digits, "-")


def write_compacted(table: Table, stretches: Iterable[pa.Table]) -> None:
    """Write all rows in one commit, and compact the table fully."""
    writer = table.writer()
    for rows in stretches:
        writer.write(rows)
    result = writer.prepare_commit()
    table.committer().commit(
        result.messages,
        commit_user="bench",
        commit_identifier=1,
        next_sequence_number=(result.max_sequence_number or 0) + 1,
    )
    table.compact()
