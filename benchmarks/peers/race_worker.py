"""Worker process of a race: commits of one row each, as fast as possible.

Arguments: the engine, the warehouse, the number of the process, the number of commits. The process prints `ready`,
starts when it reads a line, and prints acknowledged keys, refusals and seconds as JSON. It runs in the environment
of its engine, and imports only that engine, pyarrow and the standard library.

| engine | writes with |
|---|---|
| `ours` | Braid |
| `rust` | paimon-rust, by its Python package |
| `pypaimon` | pypaimon |
| `pypaimon with rust` | pypaimon with its Rust core |
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final

TABLE: Final = "race.rows"
KEYS_OF_A_PROCESS: Final = 1_000_000
_NATIVE: Final = {"write.native.enabled": "true", "commit.native.enabled": "true"}

Put = Callable[[Any], None]


def main(engine: str, warehouse: str, number: str, commits: str) -> None:
    """Run one race."""
    arrow: Any = import_module("pyarrow")
    put = ours(warehouse) if engine == "ours" else _peer(engine, warehouse, arrow)
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    keys: list[int] = []
    refused: list[str] = []
    with ThreadPoolExecutor(max_workers=1) as worker:
        for commit in range(int(commits)):
            key = int(number) * KEYS_OF_A_PROCESS + commit
            error = worker.submit(put, _row(arrow, key)).exception()
            if error is None:
                keys.append(key)
            else:
                refused.append(f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - start
    print(json.dumps({"keys": keys, "refused": refused, "seconds": seconds}), flush=True)


def ours(warehouse: str) -> Put:
    """Return a function that commits rows with this project's engine."""
    table = import_module("braid.lake").Catalog(warehouse).table(TABLE)
    put: Put = table.write_and_commit
    return put


def _peer(engine: str, warehouse: str, arrow: Any) -> Put:
    if engine == "rust":
        rust = import_module("pypaimon_rust.datafusion")
        table = rust.PaimonCatalog({"warehouse": warehouse}).get_table(TABLE)
    else:
        catalogs = import_module("pypaimon").CatalogFactory
        table = catalogs.create({"warehouse": warehouse}).get_table(TABLE)
        if engine == "pypaimon with rust":
            table = table.copy(_NATIVE)

    def put(rows: Any) -> None:
        builder = table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows.to_batches()[0] if engine == "rust" else rows)
        commit.commit(write.prepare_commit())
        write.close()

    return put


def _row(arrow: Any, key: int) -> Any:
    schema = arrow.schema(
        [
            arrow.field("id", arrow.int64(), nullable=False),
            arrow.field("number", arrow.int64()),
            arrow.field("text", arrow.string()),
        ]
    )
    return arrow.table([[key], [key], ["x"]], schema=schema)


if __name__ == "__main__":
    main(*sys.argv[1:])
