"""Benchmark of whole backfills, from the claim to the last commit, on local disk in one process.

The rows come from a Parquet file, with and without `--bulk`, and from a file of JSON lines.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figure import figure
from braid.cli.backfill import BackfillArguments, backfill
from braid.lake import Catalog, LocalFileIO, SystemClock
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec

ROWS: Final = 2_000_000
JSON_ROWS: Final = 200_000
BULK_AIM: Final = 1_000_000
_NUMBERS: Final = 5
_TEXTS: Final = 3


def run() -> list[dict[str, Any]]:
    """Return the figures of backfills.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    figures = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        parquet, lines = Path(folder) / "rows.parquet", Path(folder) / "rows.jsonl"
        pq.write_table(_rows(ROWS), parquet, row_group_size=250_000)
        lines.write_text("\n".join(map(json.dumps, _rows(JSON_ROWS).to_pylist())))
        for path, rows, is_bulk in (
            (parquet, ROWS, False),
            (parquet, ROWS, True),
            (lines, JSON_ROWS, False),
        ):
            warehouse = Path(folder) / f"{path.suffix[1:]}-{is_bulk}"
            seconds = _seconds(warehouse, path, is_bulk=is_bulk)
            how = ", bulk" if is_bulk else ""
            name = f"backfill: 10 columns of {path.suffix[1:]}{how}"
            figures.append(figure(name, rows / seconds, "rows/s", BULK_AIM if is_bulk else None))
    return figures


def _rows(count: int) -> pa.Table:
    chance = np.random.default_rng(7)
    columns: dict[str, Any] = {"id": chance.permutation(count), "version": np.arange(count)}
    columns |= {f"n{number}": chance.integers(0, 1 << 40, count) for number in range(_NUMBERS)}
    texts = np.array([f"a text of some length, number {number}" for number in range(1_000)])
    columns |= {f"t{number}": chance.choice(texts, count) for number in range(_TEXTS)}
    return pa.table(columns)


def _seconds(warehouse: Path, source: Path, *, is_bulk: bool) -> float:
    warehouse.mkdir()
    _register(str(warehouse))
    start = time.perf_counter()
    backfill(
        str(warehouse),
        BackfillArguments(
            identifier="bench.rows",
            stream="s",
            name="history",
            source=str(source),
            rejects=warehouse / "rejects",
            is_bulk=is_bulk,
        ),
    )
    return time.perf_counter() - start


def _register(warehouse: str) -> None:
    file_io, clock = LocalFileIO(), SystemClock()
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, warehouse, clock), catalog, clock)
    numbers = [f"n{number}" for number in range(_NUMBERS)]
    texts = [f"t{number}" for number in range(_TEXTS)]
    spec = {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "version", "type": "BIGINT"},
            *({"name": name, "type": "BIGINT"} for name in numbers),
            *({"name": name, "type": "STRING"} for name in texts),
        ],
        "primary_key": ["id"],
        "buckets": 4,
        "sequence_groups": [{"name": "s", "ordering": ["version"], "columns": [*numbers, *texts]}],
    }
    registrar.put_table("bench", "rows", TableSpec.model_validate(spec))
    registrar.put_stream("bench.rows", "s", StreamDefinition(topic="t"))
