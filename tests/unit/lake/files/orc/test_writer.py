"""ORC files of nested columns: written in slices of a table, with nulls at every level."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake.files.data_files import DataFileReader, DataFileWriter, FileEncoding, FileFormat
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.data_types import DataField, assign_field_ids, highest_field_id
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.format.type_codec import parse_type
from tests.support.committing import data_file

PAIR: list[dict[str, Any] | None] = [
    {"a": 1, "b": "x"},
    None,
    {"a": None, "b": None},
    {"a": 2, "b": None},
    None,
    {"a": 3, "b": "y"},
]


def schema_with(type_text: str) -> TableSchema:
    """Return the schema of a table with a key and a column of a type."""
    fields = assign_field_ids(
        [
            DataField(name="k", type=parse_type("INT NOT NULL")),
            DataField(name="v", type=parse_type(type_text)),
        ]
    )
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=(),
        primary_keys=("k",),
        options={"bucket": "1"},
    )


def rows_with(schema: TableSchema, values: pa.Array) -> pa.Table:
    """Return key-value rows with these values."""
    count = len(values)
    return pa.table(
        {
            SEQUENCE_NUMBER: pa.array(range(count), pa.int64()),
            VALUE_KIND: pa.array([0] * count, pa.int8()),
            "k": pa.array(range(count), pa.int32()),
            "v": values.cast(schema.arrow_schema.field("v").type),
        }
    )


def written_and_read(schema: TableSchema, parts: list[pa.Table]) -> list[Any]:
    """Write the parts one after another to one ORC file, and return the column's values."""
    file_io, name = MemoryFileIO(), "data-0.orc"
    encoding = FileEncoding(format=FileFormat.ORC, codec="zstd", zstd_level=1)
    with DataFileWriter(file_io, f"/{name}", schema, without=[], encoding=encoding) as writer:
        for part in parts:
            writer.write(part)
        writer.finish()
    meta = data_file(name, row_count=sum(part.num_rows for part in parts))
    reader = DataFileReader(file_io, f"/{name}", file_meta=meta, schema=schema)
    found = pa.Table.from_batches(reader.batches(schema.field_names, batch_rows=1_000))
    values: list[Any] = found["v"].to_pylist()
    return values


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("type_text", "values"),
    [
        ("ROW<a INT, b STRING>", PAIR),
        ("ARRAY<ROW<a INT, b STRING>>", [[pair, None] for pair in PAIR]),
        ("MAP<INT, ROW<a INT, b STRING>>", [[(1, pair)] for pair in PAIR]),
        ("ARRAY<INT>", [[1], None, [], [2, 3], [None], [4]]),
        ("ROW<q ROW<a INT, b STRING>>", [{"q": pair} for pair in PAIR]),
        ("ROW<q ROW<a INT, b STRING>>", [None, *({"q": pair} for pair in PAIR)]),
        ("ROW<p ROW<q ROW<a INT, b STRING>>>", [{"p": {"q": pair}} for pair in PAIR]),
        ("ROW<q ARRAY<ROW<a INT, b STRING>>>", [{"q": [pair]} for pair in PAIR]),
        ("ARRAY<ROW<q ROW<a INT, b STRING>>>", [[{"q": pair}, None] for pair in PAIR]),
        ("MAP<INT, ROW<q ROW<a INT, b STRING>>>", [[(1, {"q": pair})] for pair in PAIR]),
        ("ROW<q MAP<INT, STRING>>", [{"q": None}, {"q": [(1, "x")]}, None] * 2),
    ],
)
def test_a_table_written_in_slices_keeps_its_nested_values(
    type_text: str, values: list[Any], cut: int
) -> None:
    schema = schema_with(type_text)
    rows = rows_with(schema, pa.array(values, schema.arrow_schema.field("v").type))

    assert written_and_read(schema, [rows.slice(0, cut), rows.slice(cut)]) == values


def test_a_row_of_sliced_fields_keeps_its_values() -> None:
    schema = schema_with("ROW<a INT>")
    field = pa.array([8, 9, 1, 2, None], pa.int32()).slice(2)
    values = pa.StructArray.from_arrays([field], ["a"], mask=pa.array([False, True, False]))

    assert written_and_read(schema, [rows_with(schema, values)]) == [{"a": 1}, None, {"a": None}]
