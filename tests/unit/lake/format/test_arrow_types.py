from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch, UnsupportedFeature
from braid.lake.format.arrow_types import (
    arrow_schema,
    elements,
    from_arrow_type,
    to_arrow_form,
    to_arrow_type,
)
from braid.lake.format.data_types import DataField
from braid.lake.format.type_codec import parse_type

ROW = {"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "INT NOT NULL"}]}


@pytest.mark.parametrize(
    ("declared", "arrow_type"),
    [
        ("BOOLEAN", pa.bool_()),
        ("TINYINT", pa.int8()),
        ("SMALLINT", pa.int16()),
        ("INT", pa.int32()),
        ("BIGINT", pa.int64()),
        ("FLOAT", pa.float32()),
        ("DOUBLE", pa.float64()),
        ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
        ("CHAR(3)", pa.string()),
        ("STRING", pa.string()),
        ("BINARY(3)", pa.binary()),
        ("BYTES", pa.binary()),
        ("DATE", pa.date32()),
        ("TIME(0)", pa.time32("ms")),
        ("TIMESTAMP(0)", pa.timestamp("ms")),
        ("TIMESTAMP(3)", pa.timestamp("ms")),
        ("TIMESTAMP(4)", pa.timestamp("us")),
        ("TIMESTAMP(6)", pa.timestamp("us")),
        ("TIMESTAMP(7)", pa.timestamp("ns")),
        ("TIMESTAMP_LTZ(3)", pa.timestamp("ms", tz="UTC")),
        ("ARRAY<INT>", pa.list_(pa.int32())),
        ("MAP<STRING, INT>", pa.map_(pa.string(), pa.int32())),
        (ROW, pa.struct([pa.field("x", pa.int32(), nullable=False)])),
    ],
    ids=str,
)
def test_every_type_has_one_arrow_form(
    declared: str | Mapping[str, object], arrow_type: pa.DataType
) -> None:
    assert to_arrow_type(parse_type(declared)) == arrow_type


def test_a_multiset_is_a_map_to_counts() -> None:
    arrow_type = to_arrow_type(parse_type("MULTISET<STRING>"))

    assert (arrow_type.key_type, arrow_type.item_type) == (pa.string(), pa.int32())


def test_a_schema_keeps_order_and_nullability() -> None:
    fields = [
        DataField(id=0, name="k", type=parse_type("INT NOT NULL")),
        DataField(id=1, name="v", type=parse_type("STRING")),
    ]

    assert arrow_schema(fields) == pa.schema(
        [pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())]
    )


@pytest.mark.parametrize(
    ("arrow_type", "declared"),
    [
        (pa.int8(), "TINYINT"),
        (pa.large_string(), "STRING"),
        (pa.large_binary(), "BYTES"),
        (pa.binary(4), "BINARY(4)"),
        (pa.decimal128(20, 3), "DECIMAL(20, 3)"),
        (pa.time32("s"), "TIME(3)"),
        (pa.timestamp("s"), "TIMESTAMP(0)"),
        (pa.timestamp("us", tz="Europe/Berlin"), "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        (pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (pa.large_list(pa.int32()), "ARRAY<INT>"),
        (pa.map_(pa.string(), pa.int32()), "MAP<STRING NOT NULL, INT>"),
        (pa.struct([("x", pa.int32())]), "ROW<`x` INT>"),
    ],
    ids=str,
)
def test_an_arrow_type_has_the_type_that_holds_it(arrow_type: pa.DataType, declared: str) -> None:
    assert str(from_arrow_type(arrow_type)) == declared
    assert str(from_arrow_type(arrow_type, nullable=False)) == f"{declared} NOT NULL"


@pytest.mark.parametrize(
    "arrow_type",
    [pa.uint32(), pa.duration("s"), pa.decimal256(50, 2), pa.null(), pa.list_(pa.uint8())],
    ids=str,
)
def test_an_arrow_type_that_nothing_holds_is_unsupported(arrow_type: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeature, match="is not supported"):
        from_arrow_type(arrow_type)


def test_a_column_of_a_related_type_is_cast() -> None:
    column = pa.array(["a", None]).dictionary_encode()

    assert to_arrow_form(column, parse_type("STRING")).equals(pa.array(["a", None]))


def test_a_column_whose_values_do_not_fit_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match=r"`int64` does not fit `TINYINT`"):
        to_arrow_form(pa.array([1000]), parse_type("TINYINT"))


@pytest.mark.parametrize("is_map", [False, True])
def test_elements_are_those_of_the_values_alone(*, is_map: bool) -> None:
    """Buffers have more: elements under null, and before and after a slice."""
    numbers = pa.array([1, 2, 3, 4, 5])
    validity = pa.array([True, None, True, True]).buffers()[0]
    offsets = pa.array([0, 1, 2, 4, 5], pa.int32()).buffers()[1]
    kind, child = pa.list_(pa.int64()), numbers
    if is_map:
        kind = pa.map_(pa.int64(), pa.int64())
        child = pa.StructArray.from_arrays(
            [numbers, numbers],
            fields=[pa.field("key", pa.int64(), nullable=False), pa.field("value", pa.int64())],
        )
    column = pa.Array.from_buffers(kind, 4, [validity, offsets], children=[child])

    def numbers_of(found: pa.Array) -> list[int]:
        values: list[int] = (found.field(0) if is_map else found).to_pylist()
        return values

    assert numbers_of(elements(column)) == [1, 3, 4, 5]
    assert numbers_of(elements(column.slice(1, 2))) == [3, 4]
