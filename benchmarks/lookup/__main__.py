"""Benchmark of lookups by primary key: `python -m benchmarks.lookup`.

| part | table |
|---|---|
| `keys` | one bucket of ten million rows for each type of key, compacted, with three small files on top |
| `wide` | two million rows of 22 columns in four buckets, in process and over HTTP |
| `large` | the same with ten million rows, and at most 256 MB of them in memory |
"""

import argparse
import json
import os
import tempfile

from benchmarks.figure import figure
from benchmarks.lookup.measure import Measured, disturbed_us, measure
from benchmarks.lookup.tables import KEY_KINDS, write_table
from benchmarks.lookup.wide import Rate, in_process, over_http
from benchmarks.lookup.wide_table import write_wide_table
from benchmarks.machine import machine
from braid.lake import Catalog, Table

ROWS = 10_000_000
SINGLE_AIM_US = 100.0
BATCH_AIM = 500_000.0
COLD_AIM_S = 2.0
WIDE_ROWS = 2_000_000
LARGE_ROWS = 10_000_000
PARTS = ("keys", "wide", "large")


def main() -> None:
    """Measure the parts and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--rows", type=int, default=ROWS, help="of the tables of `keys`")
    parser.add_argument("--keys", nargs="*", default=[kind.name for kind in KEY_KINDS])
    parser.add_argument("--memory", help="lookup.cache-max-memory-size of the table of `wide`")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each rate")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON at the end")
    arguments = parser.parse_args()
    parts = arguments.parts or list(PARTS)
    if unknown := sorted({*parts} - {*PARTS}):
        parser.error(f"no such part: {', '.join(unknown)}")
    print(machine(), flush=True)
    figures = []
    if "keys" in parts:
        figures += _keys(arguments)
    if "wide" in parts:
        figures += _wide("wide", WIDE_ROWS, arguments.memory, arguments.seconds)
    if "large" in parts:
        figures += _wide("large", LARGE_ROWS, "256 mb", arguments.seconds)
    if arguments.json:
        print(json.dumps(figures))


def _keys(arguments: argparse.Namespace) -> list[dict[str, object]]:
    figures: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
        catalog = Catalog(warehouse)
        for kind in KEY_KINDS:
            if kind.name not in arguments.keys:
                continue
            table = write_table(catalog, kind, rows=arguments.rows)
            # A disk that is still busy with the table would be measured with the first lookup.
            os.sync()
            measured = measure(table, kind, rows=arguments.rows)
            _print(kind.name, arguments.rows, measured)
            figures += _figures(kind.name, measured)
            # Another handle of the table has no copy of a file yet.
            cold = Table.open(table.path).lookup_at()
            before, meanwhile = disturbed_us(
                table.lookup_at(), kind, cold.load, rows=arguments.rows
            )
            for when, (median, high, longest) in (("before", before), ("while", meanwhile)):
                print(
                    f"  one key {when} another file is copied: {median:.0f} us, "
                    f"99 % {high:.0f}, longest {longest:.0f}",
                    flush=True,
                )
    return figures


def _wide(part: str, rows: int, memory: str | None, seconds: float) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
        table = write_wide_table(Catalog(warehouse), rows=rows, max_memory=memory)
        os.sync()
        snapshot = table.latest_snapshot()
        assert snapshot is not None
        size = sum(entry.file.file_size for entry in table.live_files(snapshot))
        print(f"{part}: {rows / 1e6:g} million rows of 22 columns, {size / 1e6:.0f} MB", flush=True)
        rates: list[Rate] = []
        for measured in (
            in_process(table.path, rows=rows, seconds=seconds),
            over_http(warehouse, rows=rows, seconds=seconds),
        ):
            for rate in measured:
                rates.append(rate)
                print(
                    f"  {rate.name}: {rate.per_s:,.0f} rows/s, median {rate.median_ms:.2f} ms, "
                    f"99 % {rate.high_ms:.2f}, processor {rate.processor_ms:.2f} "
                    f"(median while nothing was ready {rate.first_ms:.2f})",
                    flush=True,
                )
    figures = [figure(f"{part}: {rate.name}", rate.per_s, "rows/s") for rate in rates]
    return figures + [figure(f"{part}: {rate.name}, 99 %", rate.high_ms, "ms") for rate in rates]


def _print(name: str, rows: int, measured: Measured) -> None:
    print(f"{name} keys, {rows / 1e6:g} million rows, {measured.disk_mb:.0f} MB on disk")
    print(
        f"  first key: {measured.cold_s:.2f} s (files up to {measured.cold_mb:.0f} MB, aim "
        f"{COLD_AIM_S:g} for 128 MB), all files {measured.load_s:.2f} s"
    )
    for side, (median, high) in measured.single_us.items():
        print(f"  one {side} key: {median:.0f} us, 99 % {high:.0f} (aim {SINGLE_AIM_US:g})")
    median, high = measured.newest_us
    print(f"  one key at the newest snapshot: {median:.0f} us, 99 % {high:.0f}")
    for size, sides in measured.keys_per_s.items():
        rates = ", ".join(f"{side} {rate / 1e3:.0f}" for side, rate in sides.items())
        print(f"  batches of {size}: thousand keys/s {rates} (aim {BATCH_AIM / 1e3:g})", flush=True)


def _figures(name: str, measured: Measured) -> list[dict[str, object]]:
    figures = [
        figure(f"first {name} key, cold", measured.cold_s, "s", COLD_AIM_S),
        figure(f"disk for {name} keys", measured.disk_mb, "MB"),
    ]
    for side, (median, _) in measured.single_us.items():
        figures.append(figure(f"one {side} {name} key", median, "us", SINGLE_AIM_US))
    for size, sides in measured.keys_per_s.items():
        for side, rate in sides.items():
            what = f"{side} {name} keys in batches of {size}"
            figures.append(figure(what, rate, "keys/s", BATCH_AIM))
    return figures


if __name__ == "__main__":
    main()
