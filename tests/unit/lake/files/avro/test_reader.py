"""Avro data files have the same rows in every form of their schema."""

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import CorruptData, parse_type
from braid.lake.files.avro.reader import AvroFormatReader
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.avro.columns import encode_rows
from braid.lake.format.avro.container import container_block, container_header
from braid.lake.format.avro.types import avro_schema
from braid.lake.format.data_types import DataField, assign_field_ids
from tests.support.avro_records import read_records
from tests.unit.lake.files.avro.test_block_arrays import FIELDS, given_columns
from tests.unit.lake.format.avro_variants import (
    VARIANTS,
    Variant,
    in_union,
    in_union_before_null,
    written,
)

MOMENT = 1_700_000_000_123
NESTED = assign_field_ids(
    [
        DataField(name=name, type=parse_type(text))
        for name, text in (
            ("id", "INT NOT NULL"),
            ("first", "ROW<at TIMESTAMP(3), amount DECIMAL(9, 2)>"),
            ("second", "ROW<at TIMESTAMP(3), amount DECIMAL(9, 2)>"),
            ("many", "ARRAY<ROW<at TIMESTAMP(3), amount DECIMAL(9, 2)> NOT NULL>"),
            ("by_name", "MAP<STRING NOT NULL, TIMESTAMP(3)>"),
            ("by_number", "MAP<INT NOT NULL, STRING>"),
        )
    ]
)
NESTED_SCHEMA = avro_schema(NESTED)
ROW = {"at": MOMENT, "amount": b"\xff"}
NESTED_RECORDS = [
    {"id": 1, "first": ROW, "second": {"at": None, "amount": None}, "many": [ROW, ROW],
     "by_name": {"a": MOMENT, "b": None}, "by_number": [{"key": 3, "value": "x"}]},
    {"id": 2, "first": None, "second": ROW, "many": None, "by_name": None, "by_number": []},
]  # fmt: skip


def opened(data: bytes, fields: Sequence[DataField]) -> pa.Table:
    columns = [pa.field(field.name, to_arrow_type(field.type)) for field in fields]
    batches = AvroFormatReader(pa.BufferReader(data), "test").batches(
        [0], columns, batch_rows=64, batch_bytes=1 << 20
    )
    return pa.Table.from_batches(batches, schema=pa.schema(columns))


@pytest.mark.parametrize("block_rows", [4, 500], ids=["side by side", "value by value"])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
def test_plain_columns_do_not_depend_on_the_form_of_the_schema(
    variant: Variant, block_rows: int
) -> None:
    columns = given_columns(random.Random(7), 200, 0.3)
    schema: Any = avro_schema(FIELDS)
    sync = bytes(16)
    block = container_block(200, encode_rows(columns, FIELDS).data.tobytes(), sync)
    records = read_records(container_header(schema, "null", sync) + block, what="test")

    found = opened(written(variant(schema), records, block_rows=block_rows), FIELDS)

    assert found.equals(pa.table(columns, found.schema))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
def test_nested_columns_do_not_depend_on_the_form_of_the_schema(variant: Variant) -> None:
    expected = opened(written(NESTED_SCHEMA, NESTED_RECORDS), NESTED)
    assert expected["first"][0].as_py()["at"].microsecond == 123_000

    found = opened(written(variant(NESTED_SCHEMA), NESTED_RECORDS), NESTED)

    assert found.equals(expected)


@pytest.mark.parametrize("block_rows", [1, 500], ids=["side by side", "value by value"])
@pytest.mark.parametrize("variant", [in_union, in_union_before_null])
def test_a_row_that_is_null_is_corrupt(variant: Variant, block_rows: int) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "c", "type": "int"}]}
    records: list[Any] = [*({"c": n} for n in range(60)), None]
    fields = [DataField(id=0, name="c", type=parse_type("INT NOT NULL"))]

    with pytest.raises((CorruptData, ValueError), match="null"):
        opened(written(variant(schema), records, block_rows=block_rows), fields)


def test_a_part_of_a_row_that_is_not_wanted_is_skipped() -> None:
    fields = [DataField(id=0, name="first", type=parse_type("ROW<amount DECIMAL(9, 2), new INT>"))]

    found = opened(written(NESTED_SCHEMA, NESTED_RECORDS), fields)

    assert str(found["first"].to_pylist()) == "[{'amount': Decimal('-0.01'), 'new': None}, None]"
