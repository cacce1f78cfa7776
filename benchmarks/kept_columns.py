"""Costs of storing the order of kept columns, by the form in which it is stored.

    python -m benchmarks.kept_columns [--columns 8] [--rows 200000] [--commits 4]

A table has one sequence group, ordered by two declared columns and by arrival, over columns of texts. In each
text column one record in ten has no value. In the form `none` the text columns are not kept. The form `bytes`
stores the order of each kept column in one column of bytes, and `copies` in copies of the ordering columns. All
tables have the same records. Times are processor times, of which the lowest of three reads counts. Sizes are
those of the table after a full compaction.
"""

import argparse
import tempfile
import time
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.machine import machine
from benchmarks.table_costs import file_bytes, read_s
from braid.lake import Catalog, Table, comparable_bytes, stored_offset

ORDERING: Final = {
    "phase": "BIGINT",
    "position": "BIGINT",
    "offset": "BIGINT",
    "partition": "INT",
}
FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "none": {},
    "bytes": {"order": "BYTES"},
    "copies": ORDERING,
}
REPEATS: Final = 3


def create(catalog: Catalog, form: str, count: int) -> Table:
    """Return an empty table with so many kept columns."""
    kept = [f"v{index}" for index in range(count)]
    columns = [("k", "BIGINT"), ("x", "BIGINT"), *((name, "STRING") for name in kept)]
    columns += ORDERING.items()
    shared = ["x", *(kept if form == "none" else [])]
    options = {"bucket": "1", "merge-engine": "partial-update", "write-only": "true"}
    options[f"fields.{','.join(ORDERING)}.sequence-group"] = ",".join(shared)
    for name in kept if FORMS[form] else []:
        own = {f"{name}__{suffix}": sql for suffix, sql in FORMS[form].items()}
        columns += own.items()
        options[f"fields.{','.join(own)}.sequence-group"] = name
    return catalog.create_table(f"b.{form}", columns=columns, primary_key=["k"], options=options)


def records(form: str, count: int, commit: int, rows: int) -> pa.Table:
    """Return the records of one commit, which has half of all keys, chosen at random."""
    random = np.random.default_rng(commit)
    keys = random.permutation(np.arange(rows * 2))[:rows]
    arrivals = np.arange(commit * rows, (commit + 1) * rows)
    order = {
        "phase": pa.array(np.ones(rows, np.int64)),
        "position": pa.array(88_000_000_000 + arrivals * 117),
        "offset": pa.array(stored_offset(1, 0) + 5_000_000 + arrivals // 12),
        "partition": pa.array((keys % 12).astype(np.int32)),
    }
    columns = {"k": pa.array(keys), "x": pa.array(arrivals), **order}
    stored = {**order, "order": comparable_bytes(list(order.values()))}
    for index in range(count):
        is_absent = pa.array(random.random(rows) < 0.1)
        texts = pa.array([f"text {number}" for number in random.integers(0, 1 << 30, rows)])
        columns[f"v{index}"] = _null_where(is_absent, texts)
        for suffix in FORMS[form]:
            columns[f"v{index}__{suffix}"] = _null_where(is_absent, stored[suffix])
    return pa.table(columns)


def _null_where(mask: pa.BooleanArray, array: pa.Array) -> pa.Array:
    return pc.if_else(mask, pa.scalar(None, array.type), array)


def main() -> None:
    """Measure all forms and print them beside the table that keeps nothing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept_columns")
    parser.add_argument("--columns", type=int, default=8, help="kept columns")
    parser.add_argument("--rows", type=int, default=200_000, help="records of a table")
    parser.add_argument("--commits", type=int, default=4, help="commits of a table")
    given = parser.parse_args()
    print(machine())
    print(f"\n{'form':<8} {'write s':>8} {'merge s':>8} {'ratio':>6} {'MB':>7} {'ratio':>6}")
    base: tuple[float, int] | None = None
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        for form in FORMS:
            table = create(Catalog(folder), form, given.columns)
            written = 0.0
            for commit in range(given.commits):
                batch = records(form, given.columns, commit, given.rows // given.commits)
                started = time.process_time()
                table.write_and_commit(batch)
                written += time.process_time() - started
            merged = min(read_s(table) for _ in range(REPEATS))
            table.compact(full=True)
            size = file_bytes(table)
            base = base or (merged, size)
            print(
                f"{form:<8} {written:8.3f} {merged:8.3f} {merged / base[0]:6.2f} "
                f"{size / 1e6:7.2f} {size / base[1]:6.2f}"
            )


if __name__ == "__main__":
    main()
