"""Columns decoded from many blocks at once have the encoded values, and damage is detected."""

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import CorruptData, parse_type
from braid.lake.files.avro.block_arrays import column_array
from braid.lake.files.avro.reader import AvroFormatReader
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.avro.block_decoder import decode_columns, plain_columns
from braid.lake.format.avro.columns import encode_rows
from braid.lake.format.avro.container import container_block, container_header
from braid.lake.format.avro.types import avro_schema
from braid.lake.format.data_types import DataField, assign_field_ids

TYPES = [
    "INT NOT NULL", "BIGINT", "TINYINT", "BOOLEAN", "FLOAT", "DOUBLE NOT NULL", "STRING", "BYTES NOT NULL",
    "DECIMAL(38, 3)", "DECIMAL(9, 2) NOT NULL", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6) NOT NULL",
    "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)", "STRING NOT NULL",
]  # fmt: skip
FIELDS = assign_field_ids(
    [DataField(name=f"c{n}", type=parse_type(text)) for n, text in enumerate(TYPES)]
)
SCHEMA: Any = avro_schema(FIELDS)
SYNC = bytes(range(16))


def value(chance: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_string(kind):
        return "aé日"[: chance.randrange(4)] * chance.choice([1, 1, 1, 70])
    if pa.types.is_binary(kind):
        return chance.randbytes(chance.choice([0, 1, 5, 200]))
    if pa.types.is_floating(kind):
        return chance.choice([0.0, -0.0, 1.5, float("inf"), -(2.0**70)])
    if pa.types.is_decimal(kind):
        number = chance.choice([-1, 1]) * chance.randrange(10 ** chance.randint(0, kind.precision))
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
    if pa.types.is_time(kind):
        return chance.randrange(86_400_000)
    bits = 21 if pa.types.is_date(kind) else 50 if pa.types.is_timestamp(kind) else kind.bit_width
    bound = 1 << chance.randrange(bits)
    return chance.choice([0, -1, bound - 1, -bound, chance.randrange(-bound, bound)])


def given_columns(chance: random.Random, rows: int, nulls: float) -> list[pa.Array]:
    columns = []
    for field in FIELDS:
        kind = to_arrow_type(field.type)
        may = nulls if field.type.nullable else 0.0
        values = [None if chance.random() < may else value(chance, kind) for _ in range(rows)]
        columns.append(pa.array(values, kind))
    return columns


def cut(chance: random.Random, columns: list[pa.Array]) -> list[tuple[int, bytes]]:
    blocks, start, rows = [], 0, len(columns[0])
    while start < rows:
        count = min(rows - start, chance.choice([1, 2, 3, 30]))
        part = [column.slice(start, count) for column in columns]
        blocks.append((count, encode_rows(part, FIELDS).data.tobytes()))
        start += count
    return blocks


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_decoded_columns_are_those_that_were_encoded(seed: int, nulls: float) -> None:
    chance = random.Random(seed)
    columns = given_columns(chance, chance.choice([1, 40, 300]), nulls)
    plain = plain_columns(SCHEMA)
    assert plain is not None
    wanted = [field.name for field in FIELDS if chance.random() < 0.7]

    found = decode_columns(cut(chance, columns), plain, wanted)

    assert set(found) == set(wanted)
    for field, column, lane, declared in zip(FIELDS, columns, plain, SCHEMA["fields"], strict=True):
        if field.name in wanted:
            array = column_array(found[field.name], lane, declared["type"], column.type)
            array.validate(full=True)
            assert array.equals(column), field.type


def given_file(chance: random.Random) -> tuple[bytes, list[pa.Array]]:
    columns = given_columns(chance, 300, 0.2)
    header = container_header(SCHEMA, "null", SYNC)
    blocks = (container_block(count, data, SYNC) for count, data in cut(chance, columns))
    return b"".join([header, *blocks]), columns


def read(data: bytes) -> pa.Table:
    file = AvroFormatReader(pa.BufferReader(data), "test")
    fields = [pa.field(field.name, to_arrow_type(field.type)) for field in FIELDS]
    batches = file.batches([0], fields, batch_rows=64, batch_bytes=1 << 20)
    return pa.Table.from_batches(batches, schema=pa.schema(fields))


def test_a_file_of_many_blocks_is_read_in_small_batches() -> None:
    data, columns = given_file(random.Random(5))

    found = read(data)

    assert all(map(pa.Array.equals, found.combine_chunks().to_batches()[0].columns, columns))


def test_damage_is_reported_or_changes_a_value() -> None:
    chance = random.Random(6)
    data, _ = given_file(chance)
    begin = len(container_header(SCHEMA, "null", SYNC))
    told = 0
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 5])):
            damaged[chance.randrange(begin, len(data))] ^= 1 << chance.randrange(8)
        try:
            assert read(bytes(damaged)).num_rows
        except (CorruptData, ValueError):
            told += 1
    assert told > 30


def test_nested_columns_are_decoded_by_record() -> None:
    nested = avro_schema([DataField(id=0, name="l", type=parse_type("ARRAY<INT>"))])

    assert plain_columns(nested) is None
    assert plain_columns({"fields": [{"name": "u", "type": ["int", "string"]}]}) is None
    assert plain_columns({"fields": [{"name": "f", "type": {"type": "fixed", "size": 2}}]}) is None


def test_more_records_than_bytes_are_refused() -> None:
    plain = plain_columns(SCHEMA)
    assert plain is not None

    with pytest.raises(ValueError, match="a block of 40 bytes cannot hold 1099511627776 records"):
        decode_columns([(1 << 40, bytes(40))], plain, ["c0"])


@pytest.mark.parametrize("sign", [1, -1])
def test_milliseconds_of_far_years_are_read_as_microseconds(sign: int) -> None:
    fields = [DataField(name="t", type=parse_type("TIMESTAMP(3) NOT NULL"))]
    schema: Any = avro_schema(fields)
    millis = sign * 32_503_680_000_001  # the year 3000, and its mirror image before 1970
    data = encode_rows([pa.array([millis], pa.timestamp("ms"))], fields).data.tobytes()
    plain = plain_columns(schema)
    assert plain is not None
    found = decode_columns([(1, data)], plain, ["t"])

    read = column_array(found["t"], plain[0], schema["fields"][0]["type"], pa.timestamp("us"))

    assert read.view(pa.int64()).to_pylist() == [millis * 1_000]
