"""Data files of every format and writer have the same rows."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc
from pyroaring import BitMap

from braid.lake import CorruptData, LocalFileIO, TableSchema, UnsupportedFeature, parse_type
from braid.lake.files.data_files import DataFileReader
from braid.lake.format.data_types import DataField, assign_field_ids, highest_field_id
from tests.support.committing import data_file

COLUMNS = (
    ("k", "INT NOT NULL"),
    ("d", "DECIMAL(10, 2)"),
    ("t", "TIMESTAMP(3)"),
    ("u", "TIMESTAMP(6)"),
    ("h", "TIME(3)"),
    ("y", "DATE"),
    ("b", "BYTES"),
    ("l", "ARRAY<INT>"),
    ("m", "MAP<STRING, DECIMAL(5, 1)>"),
    ("n", "MAP<INT, STRING>"),
    ("r", "ROW<a INT, w TIMESTAMP(6)>"),
)
MOMENT = datetime.fromisoformat("2024-01-02T03:04:05.678")
LATER = datetime.fromisoformat("1969-12-31T23:59:59.999999")
ROWS: list[dict[str, Any]] = [
    {
        "k": 1,
        "d": Decimal("-12.34"),
        "t": MOMENT,
        "u": LATER,
        "h": time(12, 34, 56, 789_000),
        "y": date(1969, 12, 31),
        "b": b"\x00\xff",
        "l": [1, None, 3],
        "m": [("x", Decimal("1.5")), ("y", None)],
        "n": [(7, "seven")],
        "r": {"a": None, "w": MOMENT},
    },
    {"k": 2, **dict.fromkeys(name for name, _ in COLUMNS[1:])},
    {"k": 3, **dict.fromkeys(name for name, _ in COLUMNS[1:]), "l": [], "m": [], "n": []},
]


def given_schema() -> TableSchema:
    fields = assign_field_ids([DataField(name=n, type=parse_type(t)) for n, t in COLUMNS])
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=(),
        primary_keys=("k",),
        options={"bucket": "1"},
    )


def write_orc(path: Path) -> None:
    schema = given_schema().arrow_schema
    table = pa.Table.from_pylist(ROWS, schema=schema)
    # ORC has no type for a time of day; the format stores its milliseconds.
    place = schema.get_field_index("h")
    table = table.set_column(place, "h", table["h"].cast(pa.int32()))
    kinds = pa.array([0] * len(ROWS), pa.int8())
    table = table.add_column(0, "_VALUE_KIND", kinds)
    numbers = pa.array(range(len(ROWS)), pa.int64())
    orc.write_table(table.add_column(0, "_SEQUENCE_NUMBER", numbers), path)


def optional(kind: Any) -> Any:
    return ["null", kind]


AVRO: dict[str, Any] = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "_SEQUENCE_NUMBER", "type": "long"},
        {"name": "_VALUE_KIND", "type": "int"},
        {"name": "k", "type": "int"},
        {
            "name": "d",
            "type": optional(
                {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
            ),
        },
        {"name": "t", "type": optional({"type": "long", "logicalType": "timestamp-millis"})},
        {"name": "u", "type": optional({"type": "long", "logicalType": "timestamp-micros"})},
        {"name": "h", "type": optional({"type": "int", "logicalType": "time-millis"})},
        {"name": "y", "type": optional({"type": "int", "logicalType": "date"})},
        {"name": "b", "type": optional("bytes")},
        {"name": "l", "type": optional({"type": "array", "items": optional("int")})},
        {
            "name": "m",
            "type": optional(
                {
                    "type": "map",
                    "values": optional(
                        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}
                    ),
                }
            ),
        },
        {
            "name": "n",
            "type": optional(
                {
                    "type": "array",
                    "logicalType": "map",
                    "items": {
                        "type": "record",
                        "name": "entry",
                        "fields": [
                            {"name": "key", "type": "int"},
                            {"name": "value", "type": optional("string")},
                        ],
                    },
                }
            ),
        },
        {
            "name": "r",
            "type": optional(
                {
                    "type": "record",
                    "name": "inner",
                    "fields": [
                        {"name": "a", "type": optional("int")},
                        {
                            "name": "w",
                            "type": optional({"type": "long", "logicalType": "timestamp-micros"}),
                        },
                    ],
                }
            ),
        },
    ],
}


def write_avro(path: Path) -> None:
    def aware(value: Any) -> Any:
        return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value

    records = []
    for number, row in enumerate(ROWS):
        record = {name: aware(value) for name, value in row.items()}
        record |= {"_SEQUENCE_NUMBER": number, "_VALUE_KIND": 0}
        if row["m"] is not None:
            record["m"] = dict(row["m"])
        if row["n"] is not None:
            record["n"] = [{"key": key, "value": value} for key, value in row["n"]]
        if row["r"] is not None:
            record["r"] = {name: aware(value) for name, value in row["r"].items()}
        records.append(record)
    with path.open("wb") as sink:
        fastavro.writer(sink, AVRO, records, codec="deflate")


WRITERS = {"orc": write_orc, "avro": write_avro}


def reader(path: Path, *, rows: int = len(ROWS)) -> DataFileReader:
    meta = data_file(path.name, row_count=rows)
    return DataFileReader(LocalFileIO(), str(path), file_meta=meta, schema=given_schema())


@pytest.mark.parametrize("name", WRITERS)
def test_rows_come_in_the_types_of_the_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"data-1-0.{name}"
    WRITERS[name](path)

    batches = list(reader(path).batches([column for column, _ in COLUMNS]))

    table = pa.Table.from_batches(batches)
    assert table.schema.field("t").type == pa.timestamp("ms")
    assert table.drop_columns(["_SEQUENCE_NUMBER", "_VALUE_KIND"]).to_pylist() == ROWS
    assert table["_SEQUENCE_NUMBER"].to_pylist() == [0, 1, 2]


@pytest.mark.parametrize("name", WRITERS)
def test_some_columns_in_small_batches_without_marked_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"data-1-0.{name}"
    WRITERS[name](path)

    batches = list(reader(path).batches(["l", "k"], batch_rows=1, marked=BitMap([1])))

    assert max(batch.num_rows for batch in batches) == 1
    table = pa.Table.from_batches(batches)
    assert table.schema.names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "l", "k"]
    assert table["k"].to_pylist() == [1, 3]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("damage", [lambda data: data[:40], lambda data: b"nothing of the kind"])
def test_damage_is_reported(name: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / f"data-1-0.{name}"
    WRITERS[name](path)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(CorruptData, match=f"data-1-0.{name}"):
        list(reader(path).batches(["k"]))


@pytest.mark.parametrize("name", WRITERS)
def test_another_number_of_rows_is_corrupt(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"data-1-0.{name}"
    WRITERS[name](path)

    with pytest.raises(CorruptData, match="3 rows, expected 4 by its manifest entry"):
        list(reader(path, rows=4).batches(["k"]))


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data-1-0.lance"
    path.write_bytes(b"x")

    with pytest.raises(UnsupportedFeature, match="lance"):
        list(reader(path).batches(["k"]))
