"""Spark types of columns, and batches in the Arrow form that Spark expects.

| column | Spark |
|---|---|
| BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE | the same |
| DECIMAL(p, s) | DecimalType(p, s) |
| CHAR, VARCHAR | StringType |
| BINARY, VARBINARY | BinaryType |
| DATE | DateType |
| TIME | TimeType(3) |
| TIMESTAMP | TimestampNTZType, cut to microseconds |
| TIMESTAMP WITH LOCAL TIME ZONE | TimestampType, cut to microseconds |
| ARRAY, MAP, ROW | the same |
| MULTISET | MapType to IntegerType |
| VARIANT | VariantType |
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema

from braid.formats.arrow_cast import cut_cast
from braid.lake import DataField, DataType, TypeRoot

_PLAIN: Final = {
    TypeRoot.BOOLEAN: spark_types.BooleanType(),
    TypeRoot.TINYINT: spark_types.ByteType(),
    TypeRoot.SMALLINT: spark_types.ShortType(),
    TypeRoot.INT: spark_types.IntegerType(),
    TypeRoot.BIGINT: spark_types.LongType(),
    TypeRoot.FLOAT: spark_types.FloatType(),
    TypeRoot.DOUBLE: spark_types.DoubleType(),
    TypeRoot.CHAR: spark_types.StringType(),
    TypeRoot.VARCHAR: spark_types.StringType(),
    TypeRoot.BINARY: spark_types.BinaryType(),
    TypeRoot.VARBINARY: spark_types.BinaryType(),
    TypeRoot.DATE: spark_types.DateType(),
    TypeRoot.TIME: spark_types.TimeType(3),
    TypeRoot.TIMESTAMP: spark_types.TimestampNTZType(),
    TypeRoot.TIMESTAMP_LTZ: spark_types.TimestampType(),
    TypeRoot.VARIANT: spark_types.VariantType(),
}


def spark_schema(fields: Sequence[DataField]) -> spark_types.StructType:
    """Return Spark's schema for the columns, in order, nullability as declared."""
    return spark_types.StructType(
        [
            spark_types.StructField(field.name, spark_type(field.type), field.type.nullable)
            for field in fields
        ]
    )


def spark_type(data_type: DataType) -> spark_types.DataType:
    """Return the type of Spark that holds a column's values."""
    match data_type.root:
        case TypeRoot.DECIMAL:
            assert data_type.precision is not None
            assert data_type.scale is not None
            return spark_types.DecimalType(data_type.precision, data_type.scale)
        case TypeRoot.ARRAY:
            element = _part(data_type.element)
            return spark_types.ArrayType(spark_type(element), element.nullable)
        case TypeRoot.MAP:
            value = _part(data_type.value)
            return spark_types.MapType(
                spark_type(_part(data_type.key)), spark_type(value), value.nullable
            )
        case TypeRoot.MULTISET:
            element = _part(data_type.element)
            return spark_types.MapType(
                spark_type(element), spark_types.IntegerType(), valueContainsNull=False
            )
        case TypeRoot.ROW:
            return spark_schema(data_type.fields)
        case _:
            return _PLAIN[data_type.root]


def arrow_form(schema: spark_types.StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects for batches of a Spark schema."""
    return to_arrow_schema(schema, timezone="UTC")


def to_spark_batch(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Return a batch of a table in the Arrow form that Spark expects.

    Args:
        batch: A batch with the columns of `wanted`, in order.
        wanted: The schema from `arrow_form`.
    """
    columns = zip(batch.columns, wanted.types, strict=True)
    return pa.RecordBatch.from_arrays(
        [cut_cast(column, kind) for column, kind in columns], schema=wanted
    )


def _part(data_type: DataType | None) -> DataType:
    assert data_type is not None, "a nested type has its parts"
    return data_type
