"""Rows of random types come back from files of every format as they were."""

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake.files.data_files import DataFileReader, DataFileWriter, FileEncoding, FileFormat
from braid.lake.files.file_encoding import CODECS
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import (
    DataField,
    DataType,
    assign_field_ids,
    highest_field_id,
)
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.format.type_codec import parse_type
from tests.support.committing import data_file

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
ENCODINGS = st.sampled_from(FileFormat).flatmap(
    lambda file_format: st.builds(
        FileEncoding, format=st.just(file_format), codec=st.sampled_from(CODECS[file_format])
    )
)
ATOMIC = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING", "BYTES", "CHAR(3)",
    "VARCHAR(10)", "BINARY(3)", "TIME(3)", "DECIMAL(1, 0)", "DECIMAL(9, 4)", "DECIMAL(18, 18)", "DECIMAL(38, 2)",
    "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)",
)  # fmt: skip
FIRST_DAY = -719_162
"""The first of the year 1, from where on Python's dates compare."""

NANOSECONDS = ("TIMESTAMP(9)", "TIMESTAMP_LTZ(7)")


def random_type(chance: random.Random, atomic: tuple[str, ...], depth: int = 0) -> str:
    kind = chance.choice(["ARRAY", "MAP", "MULTISET", "ROW"]) if depth < 3 else ""
    null = chance.choice(["", " NOT NULL"])
    if not kind or chance.random() < 0.6:
        return chance.choice(atomic) + null
    inner = random_type(chance, atomic, depth + 1)
    if kind == "ROW":
        other = random_type(chance, atomic, depth + 1)
        return f"ROW<a {inner}, b_c {other}>{null}"
    if kind == "MAP":
        return f"MAP<{chance.choice(atomic)}, {inner}>{null}"
    if kind == "MULTISET":
        return f"MULTISET<{chance.choice(atomic)}>{null}"
    return f"ARRAY<{inner}>{null}"


def random_value(chance: random.Random, data_type: DataType) -> Any:
    """Return a value as `pa.array` takes it, times as numbers."""
    if data_type.nullable and chance.random() < 0.25:
        return None
    kind = to_arrow_type(data_type)
    if pa.types.is_list(kind):
        assert data_type.element is not None
        return [random_value(chance, data_type.element) for _ in range(chance.randrange(4))]
    if pa.types.is_map(kind):
        key = data_type.key or data_type.element
        value = data_type.value or parse_type("INT NOT NULL")
        assert key is not None
        pairs = [
            (random_value(chance, key.with_nullable(False)), random_value(chance, value))
            for _ in range(chance.randrange(3))
        ]
        return list({repr(pair[0]): pair for pair in pairs}.values())
    if pa.types.is_struct(kind):
        return {field.name: random_value(chance, field.type) for field in data_type.fields}
    return random_atom(chance, kind)


def random_atom(chance: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_string(kind):
        return "".join(chance.choices("aZ é日😀-"[:-1], k=chance.randrange(3))) + "x"
    if pa.types.is_binary(kind):
        return chance.randbytes(chance.randrange(4))
    if pa.types.is_decimal(kind):
        digits = chance.randrange(kind.precision) + 1
        number = chance.choice([-1, 1]) * chance.randrange(10**digits)
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
    if pa.types.is_floating(kind):
        return chance.choice(
            [0.0, -0.0, 1.5, -2.25, float("inf"), float(chance.randrange(1 << 20))]
        )
    if pa.types.is_time(kind):
        return chance.randrange(86_400_000)
    if pa.types.is_timestamp(kind):
        # Arrow writes no fraction of a second before 1970 into an ORC file.
        return chance.choice([0, 1, chance.randrange(1 << 45)])
    if pa.types.is_date(kind):
        return chance.choice([0, -1, chance.randrange(FIRST_DAY, -FIRST_DAY)])
    bound = 1 << chance.randrange(1, kind.bit_width)
    return chance.choice([0, bound - 1, -bound, chance.randrange(-bound, bound)])


@SETTINGS
@given(ENCODINGS, st.randoms(use_true_random=False), st.booleans(), st.integers(1, 40))
def test_rows_come_back_as_they_were(
    encoding: FileEncoding, chance: random.Random, is_thin: bool, row_count: int
) -> None:
    atomic = ATOMIC if encoding.format is FileFormat.AVRO else ATOMIC + NANOSECONDS
    types = ["INT NOT NULL", *(random_type(chance, atomic) for _ in range(chance.randrange(1, 5)))]
    fields = assign_field_ids(
        [DataField(name=f"c{n}", type=parse_type(text)) for n, text in enumerate(types)]
    )
    schema = TableSchema(
        id=0,
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=(),
        primary_keys=("c0",),
        options={"bucket": "1", "data-file.thin-mode": str(is_thin)},
    )
    columns = [
        pa.array([random_value(chance, field.type) for _ in range(row_count)], kind.type)
        for field, kind in zip(fields, schema.arrow_schema, strict=True)
    ]
    table = pa.Table.from_arrays(columns, schema=schema.arrow_schema)
    system = {SEQUENCE_NUMBER: pa.array(range(row_count), pa.int64())}
    system[VALUE_KIND] = pa.array([0] * row_count, pa.int8())
    rows = pa.table({**system, **{name: table[name] for name in table.column_names}})
    file_io, name = MemoryFileIO(), f"data-0.{encoding.format}"
    without = [
        field.name
        for field in fields
        if field.type.nullable and table[field.name].null_count == row_count
    ]

    with DataFileWriter(file_io, f"/{name}", schema, without=without, encoding=encoding) as writer:
        cut = chance.randrange(1, row_count + 1)
        writer.write(rows.slice(0, cut))
        if cut < row_count:
            writer.write(rows.slice(cut))
        writer.finish()
    meta = data_file(name, row_count=row_count)
    batches = DataFileReader(file_io, f"/{name}", file_meta=meta, schema=schema).batches(
        schema.field_names, batch_rows=chance.choice([7, 65_536])
    )

    found = pa.Table.from_batches(batches).drop_columns([SEQUENCE_NUMBER, VALUE_KIND])
    assert found.schema.types == table.schema.types
    for column in table.column_names:
        assert found[column].combine_chunks().to_pylist() == table[column].to_pylist(), column
