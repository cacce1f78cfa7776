from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import encode_row, encode_rows
from braid.lake.format.data_types import DataField
from braid.lake.format.row_columns import decode_rows
from braid.lake.format.type_codec import parse_type

COLUMNS: Sequence[tuple[str, Sequence[object]]] = [
    ("BOOLEAN", [True, None, False]),
    ("TINYINT", [-128, None, 127]),
    ("SMALLINT", [-(2**15), None, 2**15 - 1]),
    ("INT", [-(2**31), None, 2**31 - 1]),
    ("BIGINT", [-(2**63), None, 2**63 - 1]),
    ("FLOAT", [1.5, None, -0.0]),
    ("DOUBLE", [1e300, None, -2.25]),
    ("DECIMAL(18, 2)", [Decimal("-0.01"), None, Decimal("1234567890123456.78")]),
    ("DECIMAL(38, 1)", [Decimal("-0.1"), None, Decimal("9" * 37 + ".9")]),
    ("DECIMAL(38, 0)", [Decimal(-(2**64)), None, Decimal(2**63)]),
    ("DATE", [-1, None, 19_724]),
    ("TIME(0)", [0, None, 86_399_999]),
    ("TIMESTAMP(3)", [-1, None, 10**12]),
    ("TIMESTAMP(6)", [-1, None, 10**15 + 1]),
    ("TIMESTAMP(9)", [-1, None, 10**18 + 1]),
    ("TIMESTAMP_LTZ(6)", [-1_000_001, None, 0]),
    ("STRING", ["", None, "longer than seven"]),
    ("BYTES", [b"\xff" * 7, None, b"\x00" * 8]),
    ("ARRAY<INT>", [None, None, None]),
]


def _field(text: str) -> DataField:
    return DataField(name=text, type=parse_type(text))


@pytest.mark.parametrize(("text", "values"), COLUMNS, ids=[text for text, _ in COLUMNS])
def test_a_column_comes_back_with_its_nulls(text: str, values: Sequence[object]) -> None:
    field = _field(text)
    column = pa.array(values, to_arrow_type(field.type))

    decoded = decode_rows(encode_rows([column], [field]), [field])

    assert decoded.column(text).combine_chunks().equals(column)


def test_all_columns_come_back_together() -> None:
    fields = [_field(text) for text, _ in COLUMNS] * 5
    fields = [DataField(name=str(n), type=field.type) for n, field in enumerate(fields)]
    columns = [pa.array(values, to_arrow_type(parse_type(text))) for text, values in COLUMNS] * 5

    decoded = decode_rows(encode_rows(columns, fields), fields)

    assert decoded.equals(pa.table(dict(zip(decoded.column_names, columns, strict=True))))


def test_columns_are_nullable_whatever_the_field_says() -> None:
    field = _field("INT NOT NULL")

    assert decode_rows([encode_row([None], [field])], [field]).schema.field(0).nullable


def test_no_rows_make_an_empty_table() -> None:
    fields = [_field(text) for text, _ in COLUMNS]

    decoded = decode_rows([], fields)

    assert (decoded.num_rows, decoded.num_columns) == (0, len(fields))


def test_another_arity_is_corrupt_and_the_row_is_named() -> None:
    one, two = encode_row([1], [_field("INT")]), encode_row([1, 2], [_field("INT")] * 2)

    with pytest.raises(CorruptData, match="binary row 1 of 2 has 2 fields, expected 1"):
        decode_rows([one, two], [_field("INT")])
    with pytest.raises(CorruptData, match="binary row 0 has 20 bytes, expected at least 28"):
        decode_rows([one], [_field("INT")] * 2)


@pytest.mark.parametrize("text", ["STRING", "DECIMAL(30, 0)", "TIMESTAMP(6)"])
def test_a_pointer_out_of_the_row_is_corrupt(text: str) -> None:
    field = _field(text)
    value = "a long text" if text == "STRING" else 1
    row = encode_row([value], [field])

    with pytest.raises(CorruptData, match="binary row 0 refers to bytes"):
        decode_rows([row[:-8], row], [field])


def test_bytes_that_are_not_utf8_are_corrupt() -> None:
    row = encode_row([b"\xff\xff"], [_field("BYTES")])

    with pytest.raises(CorruptData, match="not UTF-8"):
        decode_rows([row], [_field("STRING")])


def test_a_nested_value_is_unsupported() -> None:
    row = encode_row([1], [_field("INT")])

    with pytest.raises(UnsupportedFeature, match="ARRAY<INT>"):
        decode_rows([row], [_field("ARRAY<INT>")])
