"""Damaged files are one problem whatever their decoder raises, and nothing of them is half-applied."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.backfill.files.damage import decoding
from braid.lake import InvalidRequest, StorageUnavailable
from tests.unit.backfill.bed import BackfillBed

ROWS = [
    {"id": key, "version": 1, "city": f"{random.Random(key).random()}", "weight": "1.5"}
    for key in range(400)
]


def avro(codec: str) -> bytes:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "version", "type": "int"},
        {"name": "city", "type": "string"},
        {"name": "weight", "type": "string"},
    ]
    file = io.BytesIO()
    schema = {"type": "record", "name": "parcel", "fields": fields}
    fastavro.writer(file, schema, ROWS, codec=codec, sync_interval=1_000)
    return file.getvalue()


def parquet(codec: str) -> bytes:
    file = io.BytesIO()
    rows = [{"id": row["id"], "version": 1, "city": row["city"]} for row in ROWS]
    pq.write_table(
        pa.Table.from_pylist(rows), file, compression=codec, row_group_size=100, data_page_size=500
    )
    return file.getvalue()


def lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def zeroed(data: bytes) -> bytes:
    """Return a file with zeros for a part in its middle."""
    middle = len(data) // 2
    return data[:middle] + bytes(60) + data[middle + 60 :]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("a.avro", lambda: avro("null")),
        ("a.avro", lambda: avro("deflate")),
        ("a.avro", lambda: avro("bzip2")),
        ("a.avro", lambda: avro("xz")),
        ("a.parquet", lambda: parquet("snappy")),
        ("a.parquet", lambda: parquet("zstd")),
        ("a.parquet", lambda: parquet("gzip")),
        ("a.json.gz", lambda: gzip.compress(lines())),
        ("a.json.bz2", lambda: bz2.compress(lines())),
    ],
)
def test_a_file_that_is_damaged_in_the_middle_is_one_problem_and_continues_when_mended(
    tmp_path: Path, name: str, made: Callable[[], bytes]
) -> None:
    bed = BackfillBed(tmp_path)
    path, data = bed.files / name, made()
    path.write_bytes(data)
    times = path.stat()
    path.write_bytes(zeroed(data))
    restore_times(path, times.st_atime_ns, times.st_mtime_ns)

    with pytest.raises(InvalidRequest, match=f"{name} cannot be read") as caught:
        bed.backfill(rows=1).run()

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("--from", str(path))
    assert problem.message.startswith("the file cannot be read: ")
    position = bed.table.committer().stream_positions()["s/backfill/history"]
    assert len(bed.rows("id")) == position.account.records < len(ROWS)
    path.write_bytes(data)
    restore_times(path, times.st_atime_ns, times.st_mtime_ns)
    assert bed.backfill().run().account.records == len(ROWS)
    assert bed.rows("id") == [(row["id"],) for row in ROWS]


def restore_times(path: Path, accessed: int, modified: int) -> None:
    os.utime(path, ns=(accessed, modified))


def test_an_error_of_the_system_is_no_damage() -> None:
    with pytest.raises(StorageUnavailable, match=r"/data/a\.avro"), decoding("/data/a.avro"):
        raise OSError(5, "Input/output error")


def test_every_error_of_a_decoder_is_damage() -> None:
    for error in (lzma.LZMAError("corrupt"), SystemError("negative size"), OSError("no data")):
        with pytest.raises(InvalidRequest, match=r"/data/a\.avro"), decoding("/data/a.avro"):
            raise error


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\nid,version\n1,1\n",
        "i" * 300,
        "i" * 200_000,
        ",".join(f"c{number}" for number in range(5_001)),
    ],
    ids=["empty", "blank", "second", "long", "very long", "many"],
)
def test_a_csv_file_whose_first_line_has_no_names_is_damaged(tmp_path: Path, text: str) -> None:
    bed = BackfillBed(tmp_path)
    (bed.files / "a.csv").write_text(text)

    with pytest.raises(InvalidRequest, match=r"a\.csv cannot be read"):
        bed.backfill().run()

    assert bed.table.latest_snapshot() is None


@pytest.mark.skipif(find_spec("cramjam") is not None, reason="the package is installed")
def test_a_codec_whose_package_is_missing_is_no_damage(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path)
    (bed.files / "a.avro").write_bytes(avro("null").replace(b"\x08null", b"\x0csnappy", 1))

    with pytest.raises(InvalidRequest, match=r"a\.avro cannot be read") as caught:
        bed.backfill().run()

    (problem,) = caught.value.problems
    assert "pip install cramjam" in (problem.hint or "")
    assert bed.table.latest_snapshot() is None


def test_a_parquet_file_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path)
    columns = [pa.array([1]), pa.array([1], pa.int32()), pa.array(["x"]), pa.array(["y"])]
    bed.files.mkdir(exist_ok=True)
    pq.write_table(
        pa.table(columns, ["id", "version", "city", "city"]), bed.files / "twice.parquet"
    )

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill().run()

    assert "the column 'city' occurs twice" in caught.value.problems[0].message
    assert bed.table.latest_snapshot() is None
