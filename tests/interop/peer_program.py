"""The program that lets pypaimon and paimon-rust work on tables; it runs in their environment.

Arguments: the warehouse. Each line of its input is a command as JSON, each line of its output the
answer, `{"ok": …}` or `{"error": text}`; rows go through Arrow files. An engine is `pypaimon`,
`pypaimon with rust` (the same interface over the Rust core) or `rust` (the core itself).

It imports nothing of this project, whose environment has another pyarrow.
"""

import json
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final

NATIVE: Final = {
    "scan.native-plan.enabled": "true",
    "read.native.enabled": "true",
    "write.native.enabled": "true",
    "commit.native.enabled": "true",
}


class Peers:
    """Both implementations, over one warehouse.

    Args:
        warehouse: The folder that holds the databases.
    """

    def __init__(self, warehouse: str) -> None:
        self._arrow: Any = import_module("pyarrow")
        self._rust: Any = import_module("pypaimon_rust.datafusion")
        self._options = {"warehouse": warehouse}
        self._catalog: Any = import_module("pypaimon").CatalogFactory.create(self._options)

    def create(self, table: str, path: str, keys: list[str], **more: Any) -> None:
        """Let pypaimon create a table with the columns of an Arrow file."""
        schema = import_module("pypaimon").Schema.from_pyarrow_schema(
            self._load(path).schema, primary_keys=keys, **more
        )
        self._catalog.create_database(table.partition(".")[0], True)
        self._catalog.create_table(table, schema, False)

    def write(self, engine: str, table: str, path: str) -> None:
        """Commit the rows of an Arrow file."""
        opened = self._table(engine, table)
        fields = self._catalog.get_table(table).table_schema.fields
        types = import_module("pypaimon.schema.data_types").PyarrowFieldParser
        schema = types.from_paimon_schema(fields)
        rows = self._load(path).select(schema.names).cast(schema)
        builder = opened.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        for batch in rows.combine_chunks().to_batches():
            write.write_arrow(
                batch if engine == "rust" else self._arrow.Table.from_batches([batch])
            )
        commit.commit(write.prepare_commit())
        write.close()

    def read(self, engine: str, table: str, path: str) -> bool:
        """Put the rows into an Arrow file; false when there are none and no types either."""
        builder = self._table(engine, table).new_read_builder()
        splits = builder.new_scan().plan().splits()
        if engine == "rust":
            batches = list(builder.new_read().read_arrow(splits))
            if not batches:
                return False
            rows = self._arrow.Table.from_batches(batches)
        else:
            rows = builder.new_read().to_arrow(splits)
        with self._arrow.ipc.new_file(path, rows.schema) as file:
            file.write_table(rows)
        return True

    def add_column(self, engine: str, table: str, name: str, kind: str) -> None:
        """Add a nullable column."""
        if engine == "rust":
            self._sql(f"ALTER TABLE paimon.{table} ADD COLUMN {name} {kind}")
            return
        data_type = import_module("pypaimon.schema.data_types").AtomicType(kind)
        self._alter(table, self._changes().add_column(name, data_type))

    def rename_column(self, engine: str, table: str, name: str, new_name: str) -> None:
        """Give a column another name."""
        if engine == "rust":
            self._sql(f"ALTER TABLE paimon.{table} RENAME COLUMN {name} TO {new_name}")
            return
        self._alter(table, self._changes().rename_column(name, new_name))

    def _table(self, engine: str, table: str) -> Any:
        if engine == "rust":
            return self._rust.PaimonCatalog(self._options).get_table(table)
        opened = self._catalog.get_table(table)
        return opened.copy(NATIVE) if engine == "pypaimon with rust" else opened

    def _sql(self, statement: str) -> None:
        context = self._rust.SQLContext()
        context.register_catalog("paimon", self._options)
        context.sql(statement)

    def _changes(self) -> Any:
        return import_module("pypaimon.schema.schema_change").SchemaChange

    def _alter(self, table: str, change: Any) -> None:
        self._catalog.alter_table(table, [change])

    def _load(self, path: str) -> Any:
        with self._arrow.OSFile(path) as file:
            return self._arrow.ipc.open_file(file).read_all()


def main(warehouse: str) -> None:
    """Answer commands until there are no more."""
    peers = Peers(warehouse)
    with ThreadPoolExecutor(max_workers=1) as worker:
        for line in sys.stdin:
            command: dict[str, Any] = json.loads(line)
            done = worker.submit(getattr(peers, command.pop("do")), **command)
            print(json.dumps(_answer(done)), flush=True)


def _answer(done: Future[Any]) -> dict[str, Any]:
    error = done.exception()  # whatever they raise is an answer
    return {"ok": done.result()} if error is None else {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main(sys.argv[1])
