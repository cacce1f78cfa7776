"""Costs of storing the order of arrival, by the form in which it is stored.

    python -m benchmarks.arrival [--rows 600000]

A table has three sequence groups over ten value columns, and four level-0 files with overlapping
keys. There is one table for each form, with the same records. The tables are read in turn, and the
lowest processor time of each counts. Sizes are those of the table after a full compaction.

In `none` one declared column orders each group. In the `declared` forms, columns for the order of
arrival follow the declared column. In the `arrival` forms there is no declared column: `as before`
is the layout before decision 0024; `two columns` is the present layout, the offset with the
generation in its upper bits, and then the partition.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.machine import machine
from benchmarks.table_costs import file_bytes, read_s
from braid.lake import Catalog, Table, stored_offset

GROUPS = {"a": ("v0", "v1", "v2", "v3"), "b": ("v4", "v5", "v6"), "c": ("v7", "v8", "v9")}
VALUE_TYPES = ("BIGINT", "DOUBLE", "STRING")
FILES = 4
PARTITIONS = 12
REPEATS = 7
Numbers = npt.NDArray[np.int64]
_WORDS = pa.array([f"word{number:05d}" for number in range(10_000)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form of the order: ordering columns of a group by suffix, most significant first."""

    name: str
    against: str | None
    columns: Mapping[str, str]


FORMS = (
    Form(name="none", against=None, columns={"version": "BIGINT"}),
    Form(
        name="declared, three columns",
        against="none",
        columns={"version": "BIGINT", "generation": "INT", "offset": "BIGINT", "partition": "INT"},
    ),
    Form(
        name="declared, two columns",
        against="none",
        columns={"version": "BIGINT", "packed": "BIGINT", "partition": "INT"},
    ),
    Form(
        name="declared, one decimal",
        against="none",
        columns={"version": "BIGINT", "whole": "DECIMAL(38, 0)"},
    ),
    Form(name="arrival, as before", against=None, columns={"partition": "INT", "offset": "BIGINT"}),
    Form(
        name="arrival, three columns",
        against="arrival, as before",
        columns={"generation": "INT", "offset": "BIGINT", "partition": "INT"},
    ),
    Form(
        name="arrival, two columns",
        against="arrival, as before",
        columns={"packed": "BIGINT", "partition": "INT"},
    ),
)


def write(catalog: Catalog, form: Form, rows: int) -> Table:
    """Return a table of this form, with its files."""
    columns = [("k", "BIGINT")]
    columns += [(f"v{index}", VALUE_TYPES[index % 3]) for index in range(10)]
    options = {"bucket": "1", "merge-engine": "partial-update", "write-only": "true"}
    for group, protected in GROUPS.items():
        ordering = [f"{group}_{suffix}" for suffix in form.columns]
        columns += list(zip(ordering, form.columns.values(), strict=True))
        options[f"fields.{','.join(ordering)}.sequence-group"] = ",".join(protected)
    name = f"bench.t{FORMS.index(form)}"
    table = catalog.create_table(name, columns=columns, primary_key=["k"], options=options)
    for file in range(FILES):
        table.write_and_commit(_records(form, file, rows // FILES))
    return table


def _records(form: Form, file: int, count: int) -> pa.Table:
    random = np.random.default_rng(file)
    keys = random.permutation(np.arange(count * 10 // 9))[:count]
    columns: dict[str, pa.Array] = {"k": pa.array(keys)}
    for index in range(10):
        nulls = random.random(count) < 0.2
        numbers = random.integers(0, 1 << 40, count)
        columns[f"v{index}"] = (
            pa.array(numbers, mask=nulls),
            pa.array(numbers / 128, mask=nulls),
            _WORDS.take(pa.array(numbers % len(_WORDS), mask=nulls)),
        )[index % 3]
    arrivals = np.arange(file * count, (file + 1) * count)
    for group in GROUPS:
        made = {suffix: _ordering(suffix, keys, arrivals, random) for suffix in form.columns}
        columns |= {f"{group}_{suffix}": array for suffix, array in made.items()}
    return pa.table(columns)


def _ordering(
    suffix: str, keys: Numbers, arrivals: Numbers, random: np.random.Generator
) -> pa.Array:
    partitions = keys % PARTITIONS
    # Partitions grow alike, so the offset of a record follows its place in the stream.
    offsets = 5_000_000 + arrivals // PARTITIONS
    match suffix:
        case "version":
            return pa.array(random.integers(0, 1_000_000, len(keys)))
        case "generation":
            return pa.array(np.ones(len(keys), np.int32))
        case "offset":
            return pa.array(offsets)
        case "packed":
            return pa.array(stored_offset(1, 0) + offsets)
        case "partition":
            return pa.array(partitions.astype(np.int32))
        case "whole":
            whole = (stored_offset(1, 0) + offsets) * 10_000 + partitions
            return pa.array(whole).cast(pa.decimal128(38, 0))
        case _:
            raise AssertionError(suffix)


def main() -> None:
    """Measure all forms and print them beside those that they are compared with."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arrival")
    parser.add_argument("--rows", type=int, default=600_000, help="records of a table")
    rows = parser.parse_args().rows
    print(machine())
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        tables = {form.name: write(Catalog(folder), form, rows) for form in FORMS}
        times: dict[str, list[float]] = {name: [] for name in tables}
        for _ in range(REPEATS):
            for name, table in tables.items():
                times[name].append(read_s(table))
        for table in tables.values():
            table.compact(full=True)
        print(f"\n{'form':<26} {'merge s':>8} {'ratio':>6} {'MB':>7} {'ratio':>6}")
        for form in FORMS:
            base = form.against or form.name
            best, least = min(times[form.name]), min(times[base])
            size, size_base = file_bytes(tables[form.name]), file_bytes(tables[base])
            print(
                f"{form.name:<26} {best:8.3f} {best / least:6.2f} "
                f"{size / 1e6:7.2f} {size / size_base:6.2f}"
            )


if __name__ == "__main__":
    main()
