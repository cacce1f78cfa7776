"""Table of the serving benchmark: three sequence groups of seven columns each, compacted, with small files on top."""

import time
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.lookup.tables import write_compacted
from braid.lake import Catalog, LocalFileIO, SystemClock, Table
from braid.registry.layout.physical_table import OP_UPSERT
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec

IDENTIFIER: Final = "bench.rows"
STREAMS: Final = ("orders", "payments", "shipments")
_TYPES: Final = (*["BIGINT"] * 3, *["DOUBLE"] * 2, *["STRING"] * 2)
_BUCKETS: Final = 4
_PARTITIONS: Final = 4
_STRETCH_ROWS: Final = 500_000
_NEW_FILES: Final = 3
_NEW_ROWS: Final = 1_000
_TEXTS: Final = pa.array([f"depot number {number}" for number in range(40)])

Numbers = npt.NDArray[np.int64]


def create_rows(warehouse: str, rows: int) -> Table:
    """Create the table with the keys of the even numbers below `2 * rows`, register its streams, and return it."""
    file_io, clock = LocalFileIO(), SystemClock()
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, warehouse, clock), catalog, clock)
    database, _, name = IDENTIFIER.partition(".")
    registrar.put_table(database, name, TableSpec.model_validate(_spec()))
    for stream in STREAMS:
        definition = {"topic": stream, "partitioned_by_key": True}
        registrar.put_stream(IDENTIFIER, stream, StreamDefinition.model_validate(definition))
    table = catalog.table(IDENTIFIER)
    stretches = range(0, rows, _STRETCH_ROWS)
    numbers = (2 * np.arange(first, min(rows, first + _STRETCH_ROWS)) for first in stretches)
    write_compacted(table, (rows_of(each, STREAMS, seed=int(each[0])) for each in numbers))
    random = np.random.default_rng(0)
    for number in range(_NEW_FILES):
        keys = 2 * np.sort(random.choice(rows, min(rows, _NEW_ROWS), replace=False))
        table.write_and_commit(rows_of(keys, [STREAMS[number]], seed=number))
    return table


def rows_of(numbers: Numbers, streams: "tuple[str, ...] | list[str]", *, seed: int) -> pa.Table:
    """Return records of some streams with these keys, as a runner writes them."""
    random = np.random.default_rng(seed)
    count = len(numbers)
    now_ms = time.time_ns() // 1_000_000
    columns: dict[str, Any] = {"id": numbers}
    for stream in streams:
        for place, sql in enumerate(_TYPES):
            columns[f"{stream}_{place}"] = _values(sql, random, count)
        columns[f"{stream}__partition"] = pa.array((numbers % _PARTITIONS).astype(np.int32))
        columns[f"{stream}__offset"] = now_ms + np.arange(count)
        at = pa.array(np.full(count, now_ms), pa.timestamp("ms", tz="UTC"))
        columns[f"{stream}__at"] = at
        columns[f"{stream}__op"] = pa.array([OP_UPSERT] * count)
    return pa.table(columns)


def _values(sql: str, random: np.random.Generator, count: int) -> Any:
    if sql == "BIGINT":
        return random.integers(0, 1 << 40, count)
    if sql == "DOUBLE":
        return random.integers(0, 100_000, count) / 4
    return _TEXTS.take(pa.array(random.integers(0, len(_TEXTS), count)))


def _spec() -> dict[str, Any]:
    columns = {stream: [f"{stream}_{place}" for place in range(len(_TYPES))] for stream in STREAMS}
    return {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            *(
                {"name": name, "type": sql}
                for names in columns.values()
                for name, sql in zip(names, _TYPES, strict=True)
            ),
        ],
        "primary_key": ["id"],
        "buckets": _BUCKETS,
        "sequence_groups": [
            {"name": stream, "columns": names} for stream, names in columns.items()
        ],
    }
