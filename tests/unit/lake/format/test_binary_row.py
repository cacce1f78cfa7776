from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.errors import CorruptData, SchemaMismatch, UnsupportedFeature
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import EMPTY_ROW, decode_row, encode_row, encode_rows
from braid.lake.format.type_codec import parse_type

# table-format 8.4: bytes of Java, arity first.
WORKED_ROWS: Sequence[tuple[str, Sequence[str], Sequence[object], str]] = [
    ("int", ["INT"], [42], "00000001 0000000000000000 2a00000000000000"),
    ("null", ["INT"], [None], "00000001 0001000000000000 0000000000000000"),
    ("empty text", ["STRING"], [""], "00000001 0000000000000000 0000000000000080"),
    ("7 bytes", ["STRING"], ["abcdefg"], "00000001 0000000000000000 6162636465666787"),
    (
        "8 bytes",
        ["STRING"],
        ["abcdefgh"],
        "00000001 0000000000000000 0800000010000000 6162636465666768",
    ),
    (
        "microseconds",
        ["TIMESTAMP(6)"],
        [datetime(2024, 1, 2, 3, 4, 5, 678901)],  # noqa: DTZ001 - a local date-time
        "00000001 0000000000000000 88bf0d0010000000 2edb20c88c010000",
    ),
    (
        "compact decimal",
        ["DECIMAL(10, 2)"],
        [Decimal("12.34")],
        "00000001 0000000000000000 d204000000000000",
    ),
    (
        "long decimal",
        ["DECIMAL(30, 2)"],
        [Decimal("-7.50")],
        "00000001 0000000000000000 0200000010000000 fd12000000000000 0000000000000000",
    ),
    (
        "two fields",
        ["BIGINT", "STRING"],
        [3, "a long string key"],
        "00000002 0000000000000000 0300000000000000 1100000018000000"
        "61206c6f6e6720737472696e67206b657900000000000000",
    ),
    (
        "nulls that keep their place",
        ["STRING", "DECIMAL(30, 2)", "TIMESTAMP(6)", "INT"],
        [None, None, None, None],
        "00000004 000f000000000000 0000000000000000 0000000028000000 0000000038000000"
        "0000000000000000" + "00" * 16 + "00" * 8,
    ),
]
OTHER_VALUES: Sequence[tuple[str, object]] = [
    ("BOOLEAN", True),
    ("TINYINT", -3),
    ("SMALLINT", -300),
    ("BIGINT", -(2**63)),
    ("FLOAT", 1.5),
    ("DOUBLE", -2.25),
    ("DATE", date(1969, 12, 31)),
    ("TIME(3)", time(23, 59, 59, 999_000)),
    ("TIMESTAMP(3)", datetime(1969, 12, 31, 23, 59, 59, 999_000)),  # noqa: DTZ001
    ("TIMESTAMP(6)", datetime(1969, 12, 31, 23, 59, 59, 999_999)),  # noqa: DTZ001
    ("TIMESTAMP_LTZ(6)", datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    ("TIMESTAMP(9)", -1),
    ("DECIMAL(18, 0)", Decimal(-(10**18) + 1)),
    ("DECIMAL(38, 0)", Decimal(10**38 - 1)),
    ("DECIMAL(38, 38)", Decimal((1, (9,) * 38, -38))),
    ("BYTES", b"\xff\x00"),
    ("STRING", "é中" * 20),
]


@pytest.mark.parametrize(
    ("types", "values", "expected"),
    [row[1:] for row in WORKED_ROWS],
    ids=[row[0] for row in WORKED_ROWS],
)
def test_rows_are_the_bytes_of_java(
    types: Sequence[str], values: Sequence[object], expected: str
) -> None:
    parsed = [parse_type(text) for text in types]

    encoded = encode_row(values, parsed)

    assert encoded.hex() == expected.replace(" ", "")
    assert decode_row(encoded, parsed) == tuple(values)


@pytest.mark.parametrize(("text", "value"), OTHER_VALUES, ids=[text for text, _ in OTHER_VALUES])
def test_a_value_of_every_type_comes_back(text: str, value: object) -> None:
    types = [parse_type(text)]

    assert decode_row(encode_row([value], types), types) == (value,)


def test_a_row_without_fields_is_twelve_zeros() -> None:
    assert encode_row([], []) == EMPTY_ROW == bytes(12)
    assert decode_row(EMPTY_ROW, []) == ()


@pytest.mark.parametrize(("arity", "header_bytes"), [(56, 8), (57, 16), (120, 16), (121, 24)])
def test_the_header_grows_with_the_arity(arity: int, header_bytes: int) -> None:
    types = [parse_type("INT")] * arity
    values = [*range(arity - 1), None]

    encoded = encode_row(values, types)

    assert len(encoded) == 4 + header_bytes + 8 * arity
    assert decode_row(encoded, types) == tuple(values)


def test_many_rows_are_the_rows_one_by_one() -> None:
    types = [parse_type(text) for text in ("STRING", "DECIMAL(20, 1)", "TIMESTAMP(6)", "INT")]
    rows = [
        [None if index % 5 == column else value for column, value in enumerate(values)]
        for index, values in enumerate(
            ("x" * n, Decimal(n) / 10, n * 1_000_001 - 7, -n) for n in range(40)
        )
    ]
    arrays = [
        pa.array([row[column] for row in rows], to_arrow_type(type_))
        for column, type_ in enumerate(types)
    ]

    assert encode_rows(arrays, types) == [encode_row(row, types) for row in rows]


def test_slices_and_chunks_make_no_difference() -> None:
    types = [parse_type("STRING"), parse_type("BOOLEAN"), parse_type("DECIMAL(25, 0)")]
    whole = [
        pa.array(["a", None, "a longer text", "d", "e"]),
        pa.array([True, False, None, True, False]),
        pa.array([1, 2, None, -4, 5]).cast(pa.decimal128(25, 0)),
    ]
    expected = encode_rows(whole, types)

    assert encode_rows([array.slice(1, 3) for array in whole], types) == expected[1:4]
    chunked = [
        pa.chunked_array([whole[0].slice(0, 2), whole[0].slice(2)]),
        pa.chunked_array([whole[1].slice(0, 4), whole[1].slice(4, 0), whole[1].slice(4)]),
        whole[2],
    ]
    assert encode_rows(chunked, types) == expected


def test_no_rows_encode_to_nothing() -> None:
    assert encode_rows([pa.array([], pa.int32())], [parse_type("INT")]) == []


def test_related_arrow_types_are_cast() -> None:
    types = [parse_type("STRING")]
    expected = encode_rows([pa.array(["a", "b"])], types)

    assert encode_rows([pa.array(["a", "b"], pa.large_string())], types) == expected
    assert encode_rows([pa.array(["a", "b"]).dictionary_encode()], types) == expected


@pytest.mark.parametrize(
    ("text", "value"), [("INT", "a"), ("TINYINT", 1000), ("DECIMAL(3, 1)", Decimal(1000))]
)
def test_a_value_that_does_not_fit_is_refused(text: str, value: object) -> None:
    with pytest.raises(SchemaMismatch, match="does not fit"):
        encode_row([value], [parse_type(text)])


@pytest.mark.parametrize(
    ("text", "number"), [("DATE", 2_932_897), ("TIMESTAMP(3)", 253_402_300_800_000)]
)
def test_a_date_beyond_python_s_is_unsupported(text: str, number: int) -> None:
    types = [parse_type(text)]

    with pytest.raises(UnsupportedFeature, match="years 1 to 9999"):
        decode_row(encode_row([number], types), types)


def test_nested_fields_can_only_be_null() -> None:
    types = [parse_type("ARRAY<INT>")]

    assert decode_row(encode_row([None], types), types) == (None,)
    with pytest.raises(UnsupportedFeature, match="ARRAY<INT>"):
        encode_row([[1]], types)
    with pytest.raises(UnsupportedFeature, match="ARRAY<INT>"):
        decode_row(encode_row([1], [parse_type("INT")]), types)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(12),
        encode_row([1, 2], [parse_type("INT")] * 2),
        encode_row(["a long text"], [parse_type("STRING")])[:-8],
        encode_row([b"\xff\xff"], [parse_type("BYTES")]),
    ],
    ids=["nothing", "no fields", "two fields", "cut short", "no text"],
)
def test_other_bytes_than_a_row_of_one_text_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptData, match="binary row of"):
        decode_row(data, [parse_type("STRING")])


@pytest.mark.parametrize("text", ["DECIMAL(30, 2)", "TIMESTAMP(6)"])
def test_a_variable_part_beyond_the_end_is_corrupt(text: str) -> None:
    types = [parse_type(text)]
    whole = encode_row([1], types)

    with pytest.raises(CorruptData, match="binary row of"):
        decode_row(whole[:20], types)
