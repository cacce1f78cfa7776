"""Tables whose buckets are made as needed, and tables ordered by snapshot: Java and we take turns."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, CommitConflict, LocalFileIO, Table
from tests.interop import java_reader
from tests.interop.ours import json_rows, open_table

pytestmark = pytest.mark.interop

Rows = list[list[int]]


def given_table(warehouse: Path, options: dict[str, str], *, partitioned: bool) -> Table:
    """Return an empty table (p, k, v) on disk."""
    return Catalog(str(warehouse), file_io=LocalFileIO()).create_table(
        "t.t",
        columns=[("p", "INT"), ("k", "INT"), ("v", "INT")],
        primary_key=["p", "k"] if partitioned else ["k"],
        partition_keys=["p"] if partitioned else [],
        options=options,
    )


def batch(rows: Rows) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.table({n: pa.array(list(c), pa.int32()) for n, c in zip("pkv", columns, strict=True)})


def random_rows(chance: random.Random, *, value: int, partitioned: bool) -> Rows:
    """Return rows of a few dozen keys, each of them at most once."""
    keys = chance.sample(range(40), 15)
    return [[chance.randrange(2) if partitioned else 0, key, value] for key in keys]


def rows_of(table: Table) -> Rows:
    """Return the rows as Java shows them: by primary key."""
    rows = json_rows(open_table(Path(table.path)).scan().to_arrow())
    return sorted([int(str(value)) for value in row] for row in rows)


@pytest.mark.parametrize("partitioned", [False, True], ids=["plain", "partitioned"])
def test_java_and_we_write_one_table_of_dynamic_buckets_in_turns(
    tmp_path: Path, *, partitioned: bool
) -> None:
    chance = random.Random(7)
    table = given_table(
        tmp_path,
        {"bucket": "-1", "dynamic-bucket.target-row-num": "4"},
        partitioned=partitioned,
    )
    expected: dict[tuple[int, int], int] = {}

    def next_rows(value: int) -> Rows:
        rows = random_rows(chance, value=value, partitioned=partitioned)
        expected.update({(p, k): v for p, k, v in rows})
        return rows

    def expected_rows() -> Rows:
        return sorted([p, k, v] for (p, k), v in expected.items())

    for value in range(3):
        table.write_and_commit(batch(next_rows(value)))
    assert java_reader.read_rows(Path(table.path)).rows == expected_rows()

    for value in (10, 20):
        writer = table.writer()  # it knows nothing of what Java is about to write
        writer.write(batch(random_rows(chance, value=99, partitioned=partitioned)))
        steps = tmp_path / f"steps-{value}.json"
        writes = []
        after_each = []
        for offset in range(2):
            rows = next_rows(value + offset)
            writes.append({"write": [["+I", *row] for row in rows]})
            after_each.append(expected_rows())
        steps.write_text(json.dumps({"steps": [*writes, {"compact": "full"}]}))

        answers = java_reader.append(Path(table.path), steps)

        assert answers == [*after_each, after_each[-1]]
        assert rows_of(table) == expected_rows()
        result = writer.prepare_commit()
        with pytest.raises(CommitConflict, match="routed by a bucket index"):
            table.committer().commit(result.messages, commit_user="late")
        table.delete_uncommitted(result.messages)
        table.write_and_commit(batch(next_rows(value + 5)))
        table.compact()
        assert rows_of(table) == expected_rows()
        assert java_reader.read_rows(Path(table.path)).rows == expected_rows()


def test_java_reads_our_table_that_is_ordered_by_snapshot(tmp_path: Path) -> None:
    """Java 1.4.2 does not know the option; it orders by the numbers in the files, as one writer's."""
    chance = random.Random(8)
    options = {"bucket": "2", "write-only": "true", "sequence.snapshot-ordering": "true"}
    table = given_table(tmp_path, options, partitioned=False)
    expected: dict[int, int] = {}
    for value in range(8):
        rows = random_rows(chance, value=value, partitioned=False)
        twice = [[p, k, v - 100] for p, k, v in rows] + rows
        table.write_and_commit(batch(twice))
        expected.update({k: v for _, k, v in rows})
        if value % 3 == 2:
            table.compact()
        assert rows_of(table) == sorted([0, k, v] for k, v in expected.items())

    assert java_reader.read_rows(Path(table.path)).rows == rows_of(table)
