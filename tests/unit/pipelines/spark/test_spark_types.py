"""Columns in the Arrow form that Spark takes: every value, nulls and slices as they were."""

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyspark.sql import types as spark_types

from braid.lake import (
    DataField,
    DataType,
    TypeRoot,
    parse_type,
    to_arrow_type,
    variants_of_json,
)
from braid.lake.merge.plain_values import plain_array, plain_values
from braid.pipelines.spark.spark_types import (
    arrow_form,
    spark_schema,
    spark_type,
    to_spark_batch,
)
from tests.support.typed_values import TYPES, values_of

_PER_MICROSECOND = {"ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def as_spark_has_it(value: object, data_type: DataType) -> object:
    """Return a plain value with timestamps in whole microseconds and times in nanoseconds."""
    if value is None:
        return None
    match data_type.root:
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            factor, divisor = _PER_MICROSECOND[to_arrow_type(data_type).unit]
            return int(str(value)) * factor // divisor
        case TypeRoot.TIME:
            return int(str(value)) * 1_000_000
        case TypeRoot.ARRAY if data_type.element and isinstance(value, list):
            return [as_spark_has_it(item, data_type.element) for item in value]
        case TypeRoot.ROW if isinstance(value, tuple):
            fields = zip(value, data_type.fields, strict=True)
            return tuple(as_spark_has_it(item, field.type) for item, field in fields)
        case TypeRoot.MAP | TypeRoot.MULTISET if isinstance(value, list):
            key, item = data_type.key or data_type.element, data_type.value
            assert key is not None
            return [
                (as_spark_has_it(k, key), as_spark_has_it(v, item) if item else v) for k, v in value
            ]
        case _:
            return value


def test_variants_are_those_of_spark() -> None:
    field = DataField(name="v", type=parse_type("VARIANT"))
    values = variants_of_json(pa.array(['{"a":[1,null]}', None, "null"]))
    batch = pa.RecordBatch.from_arrays([values], names=["v"])

    found = to_spark_batch(batch, arrow_form(spark_schema([field])))

    assert spark_type(field.type) == spark_types.VariantType()
    found.validate(full=True)
    assert found.column(0).to_pylist() == values.to_pylist()
    value, _, null = found.column(0).to_pylist()
    assert spark_types.VariantVal(**value).toPython() == {"a": [1, None]}
    assert spark_types.VariantVal(**null).toJson() == "null"


@given(data=st.data(), begin=st.integers(0, 2))
def test_values_of_every_type_stay(data: st.DataObject, begin: int) -> None:
    kind = data.draw(TYPES)
    values = data.draw(st.lists(values_of(kind), min_size=2, max_size=5))
    column = plain_array(values, to_arrow_type(kind))
    batch = pa.RecordBatch.from_arrays([column], names=["c"]).slice(begin)
    wanted = arrow_form(spark_schema([DataField(name="c", type=kind)]))

    found = to_spark_batch(batch, wanted)

    assert found.schema.equals(wanted)
    found.validate(full=True)
    expected = [as_spark_has_it(value, kind) for value in values[begin:]]
    assert repr(plain_values(found.column(0))) == repr(expected)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("CHAR(3)", "string"),
        ("TIME(0)", "time(3)"),
        ("TIMESTAMP(9)", "timestamp_ntz"),
        ("TIMESTAMP(0) WITH LOCAL TIME ZONE", "timestamp"),
        ("DECIMAL(38, 10)", "decimal(38,10)"),
        ("MULTISET<BIGINT>", "map<bigint,int>"),
        ("ROW<a INT, b ARRAY<DATE>>", "struct<a:int,b:array<date>>"),
    ],
)
def test_types_have_the_names_of_the_guide(declared: str, expected: str) -> None:
    assert spark_type(parse_type(declared)).simpleString() == expected


def test_not_null_columns_are_not_nullable_in_spark() -> None:
    fields = [
        DataField(name="k", type=parse_type("INT NOT NULL")),
        DataField(name="v", type=parse_type("ARRAY<INT NOT NULL>")),
    ]

    key, values = spark_schema(fields)

    assert (key.nullable, values.nullable) == (False, True)
    assert isinstance(values.dataType, spark_types.ArrayType)
    assert not values.dataType.containsNull
