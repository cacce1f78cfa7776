"""Columns are encoded to the bytes that Java and fastavro write for the same rows."""

import io
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from braid.lake import LocalFileIO, Table, parse_type
from braid.lake.files.data_file_columns import data_file_columns
from braid.lake.files.data_files import DataFileReader
from braid.lake.format.avro.columns import encode_rows
from braid.lake.format.avro.container import read_blocks
from braid.lake.format.avro.types import avro_schema
from braid.lake.format.data_types import DataField, assign_field_ids

TABLES = Path(__file__).parents[4] / "conformance" / "cases" / "tables"
LONGS = [0, -1, 1, 63, 64, -64, -65, 8191, 8192, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), None]


def encoded(values: list[Any], declared: str) -> bytes:
    (field,) = assign_field_ids([DataField(name="c", type=parse_type(declared))])
    rows = encode_rows([pa.array(values, TYPES[declared])], [field])
    assert rows.lengths.sum() == len(rows.data)
    assert len(rows.lengths) == len(values)
    return rows.data.tobytes()


def by_fastavro(values: list[Any], schema: Any) -> bytes:
    record = {"type": "record", "name": "r", "fields": [{"name": "c", "type": schema}]}
    parsed, out = fastavro.parse_schema(record), io.BytesIO()
    for value in values:
        fastavro.schemaless_writer(out, parsed, {"c": value})
    return out.getvalue()


TYPES = {
    "BIGINT": pa.int64(),
    "BIGINT NOT NULL": pa.int64(),
    "STRING": pa.string(),
    "DOUBLE NOT NULL": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DECIMAL(38, 2)": pa.decimal128(38, 2),
    "ARRAY<ARRAY<BIGINT>>": pa.list_(pa.list_(pa.int64())),
    "MAP<STRING, BIGINT>": pa.map_(pa.string(), pa.int64()),
}
UNSCALED = [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**63, -(2**63), 10**38 - 1, 1 - 10**38]


@pytest.mark.parametrize(
    ("declared", "schema", "values"),
    [
        ("BIGINT", ["null", "long"], LONGS),
        ("BIGINT", ["null", "long"], [None, None]),
        ("BIGINT NOT NULL", "long", [1, -2, 3]),
        ("STRING", ["null", "string"], ["", "é" * 100, None, "x"]),
        ("DOUBLE NOT NULL", "double", [0.0, -0.0, 1.5, float("inf")]),
        ("BOOLEAN", ["null", "boolean"], [True, None, False]),
        (
            "ARRAY<ARRAY<BIGINT>>",
            [
                "null",
                {"type": "array", "items": ["null", {"type": "array", "items": ["null", "long"]}]},
            ],
            [None, [], [None, [], [1, None, 300]], [[7]] * 100],
        ),
        (
            "MAP<STRING, BIGINT>",
            ["null", {"type": "map", "values": ["null", "long"]}],
            [None, {}, {"a": None, "b": 2**40}],
        ),
    ],
)
def test_bytes_are_those_of_fastavro(declared: str, schema: Any, values: list[Any]) -> None:
    given = [list(v.items()) if isinstance(v, dict) else v for v in values]

    assert encoded(given, declared) == by_fastavro(values, schema)


def test_decimals_have_the_shortest_form_with_their_sign() -> None:
    values = [Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -2)) for n in UNSCALED]
    sizes = [(n if n >= 0 else ~n).bit_length() // 8 + 1 for n in UNSCALED]

    expected = b"".join(
        b"\x02" + bytes([2 * size]) + n.to_bytes(size, "big", signed=True)
        for n, size in zip(UNSCALED, sizes, strict=True)
    )

    assert encoded(values, "DECIMAL(38, 2)") == expected


def test_slices_are_encoded_without_the_values_around_them() -> None:
    chance = random.Random(1)
    whole = pa.array([[chance.randrange(1000), None][: k % 3] for k in range(50)])
    array = pa.array([None if k % 7 == 0 else whole[k].as_py() for k in range(50)], whole.type)
    field = DataField(id=0, name="c", type=parse_type("ARRAY<BIGINT>"))

    part = encode_rows([array.slice(13, 20)], [field])
    all_rows = encode_rows([array], [field])

    before, until = all_rows.lengths[:13].sum(), all_rows.lengths[:33].sum()
    assert part.data.tobytes() == all_rows.data[before:until].tobytes()


def test_a_null_in_a_not_null_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 nulls where BIGINT NOT NULL is NOT NULL"):
        encoded([1, None], "BIGINT NOT NULL")


def test_javas_files_of_every_type_are_reproduced_byte_by_byte() -> None:
    table = Table.open(str(TABLES / "g11_avro_types" / "table"), file_io=LocalFileIO())
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    columns = data_file_columns(table.schema)
    files = [entry.file for entry in table.live_files(snapshot)]
    for file in files:
        path = f"{table.path}/bucket-0/{file.file_name}"
        schema, blocks = read_blocks(Path(path).read_bytes(), what="test")
        reader = DataFileReader(LocalFileIO(), path, file_meta=file, schema=table.schema)
        found = pa.Table.from_batches(reader.batches(table.schema.field_names))

        rows = encode_rows(
            [found.column(c.name.removeprefix("_KEY_")).combine_chunks() for c in columns], columns
        )

        assert avro_schema(columns) == schema.record
        assert rows.data.tobytes() == b"".join(block.data(what="test") for block in blocks)
    assert files
