"""The schedule that loses an update where order comes from sequence numbers (decision 0024).

1. Stream A commits its value 1.
2. A slow writer of stream A begins, so its sequence numbers are given out now.
3. A writer of stream B overtakes it: more records, higher numbers, committed first.
4. A compaction makes one row of the key, which has B's high number and A's value 1.
5. The slow writer commits A's value 2, whose number is lower than the row's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from braid.lake import Catalog, LocalFileIO, Machine, Table
from braid.lake.write.table_writer import TableWriter

COLUMNS = [("k", "INT"), ("a_at", "INT"), ("a", "INT"), ("b_at", "INT"), ("b", "STRING")]
GROUPS = {
    "merge-engine": "partial-update",
    "fields.a_at.sequence-group": "a",
    "fields.b_at.sequence-group": "b",
}
NO_GROUPS = {"merge-engine": "partial-update"}
NEWEST = {"k": 1, "a_at": 2, "a": 2, "b_at": 1, "b": "b"}


def overtaken_table(warehouse: Path, options: Mapping[str, str], machine: Machine) -> Table:
    """Carry out the schedule and return the table."""
    table = Catalog(str(warehouse), file_io=LocalFileIO()).create_table(
        "db.t", columns=COLUMNS, primary_key=["k"], options={"bucket": "1", **options}
    )
    _commit(table, _written(table.writer(machine=machine), k=[1], a_at=[1], a=[1]), "a")
    slow = _written(table.writer(machine=machine), k=[1], a_at=[2], a=[2])
    others = list(range(100, 120))
    overtaking = table.writer(machine=machine)
    _written(overtaking, k=others, b_at=[1] * 20, b=["other"] * 20)
    _commit(table, _written(overtaking, k=[1], b_at=[1], b=["b"]), "b")
    table.compact(machine=machine)
    _commit(table, slow, "a")
    return table


def _written(writer: TableWriter, **columns: Sequence[object]) -> TableWriter:
    types = {"k": pa.int32(), "a_at": pa.int32(), "a": pa.int32(), "b_at": pa.int32()}
    arrays = {name: pa.array(v, types.get(name, pa.string())) for name, v in columns.items()}
    writer.write(pa.table(arrays))
    return writer


def _commit(table: Table, writer: TableWriter, stream: str) -> None:
    messages = writer.prepare_commit().messages
    table.committer().commit(messages, commit_user=stream)
