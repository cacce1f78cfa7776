"""Upper bound of the length of keys."""

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO, SchemaMismatch, SetOption, Table

LIMIT = 64 << 10


def given_table(**options: str) -> Table:
    return Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("p", "STRING"), ("a", "STRING"), ("b", "BYTES"), ("n", "INT"), ("v", "STRING")],
        primary_key=["p", "a", "b", "n"],
        partition_keys=["p"],
        options={"bucket": "1", **options},
    )


def rows(*keys: tuple[str, bytes]) -> pa.Table:
    texts, data = zip(*keys, strict=True)
    return pa.table(
        {
            "p": ["x" * 200] * len(keys),
            "a": pa.array(texts, pa.string()),
            "b": pa.array(data, pa.binary()),
            "n": pa.array(range(len(keys)), pa.int32()),
            "v": ["long" * LIMIT] * len(keys),
        }
    )


def test_a_key_up_to_the_limit_is_written() -> None:
    table = given_table()

    table.write_and_commit(rows(("é" * (LIMIT // 4), b"x" * (LIMIT // 2))))

    assert table.scan(columns=["n"]).count() == 1


def test_a_longer_key_is_refused_with_its_row_and_nothing_is_written() -> None:
    table = given_table()

    with pytest.raises(SchemaMismatch) as caught:
        table.write_and_commit(rows(("a", b"b"), ("é" * (LIMIT // 4), b"x" * (LIMIT // 2 + 1))))

    (problem,) = caught.value.problems
    assert problem.field == "b"
    assert problem.message == (
        "row 1: the texts and bytes of the key (a, b) have 65537 bytes together, the limit is 65536"
    )
    assert "braid.key.max-bytes" in str(problem.hint)
    assert table.latest_snapshot() is None


def test_a_table_can_set_the_limit_and_its_old_rows_are_compacted() -> None:
    table = given_table()
    for text in ("a", "b"):
        table.write_and_commit(rows((text * 100, b"")))

    table.alter(SetOption(key="braid.key.max-bytes", value="10 b"))
    with pytest.raises(SchemaMismatch, match="the limit is 10"):
        table.write_and_commit(rows(("a" * 100, b"")))
    table.compact()

    assert table.scan(columns=["n"]).count() == 2
