"""Key columns: columns that are read from a record's Kafka key, as expressions for the JVM.

A key is either the value of one column as a whole, or a JSON object in which columns have paths. How a key
that is one value is read depends on the column's type: texts, dates and times take the key's text as it is;
BINARY takes the key's bytes; for all other types the key is one JSON number or boolean.
"""

from functools import reduce
from typing import Any, Final

from pyspark.sql import (
    Column,
    functions as fn,
    types as spark_types,
)

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.mapped_column import MappedColumn
from braid.pipelines.json.json_column import JsonColumn, json_type, read_column
from braid.pipelines.json.surrogate_check import has_unpaired_surrogate
from braid.pipelines.stream_plan import StreamPlan

PARSED_KEY: Final = "parsed_key"
_ROOT: Final = "key"
_SCALAR: Final = r"^(?:-?[0-9][0-9.eE+-]*|true|false)$"


def parse_key(plan: StreamPlan) -> Column:
    """Return the key parsed to the fields that columns have paths in; null where it is not a JSON object.

    Args:
        plan: A stream whose columns have paths in the key.
    """
    tree: dict[str, Any] = {}
    assert has_paths(plan), "columns have paths in the key"
    for column in plan.key_columns:
        *parents, leaf = column.path
        branch: dict[str, Any] = reduce(lambda node, name: node.setdefault(name, {}), parents, tree)
        branch[leaf] = json_type(column.type, column=column.name)
    return fn.when(_is_text(), _from_json(_text(), _struct(tree)).getField(_ROOT))


def has_paths(plan: StreamPlan) -> bool:
    """Return whether columns have paths in the key."""
    return any(column.path for column in plan.key_columns)


def read_key(column: MappedColumn) -> JsonColumn:
    """Return a column that is read from the key, and its possible faults.

    Requires:
        `PARSED_KEY` is a column of the records where the column has a path.
    """
    kind = json_type(column.type, column=column.name)
    raw = _raw(column, kind)
    found = read_column(raw, _text(), column.type, column=column.name)
    # A record without a key is refused for its missing key column, not for a malformed key.
    is_there = fn.col("key").isNotNull()
    if (
        column.path
    ):  # a key without the field is a missing key; a key that is not an object is malformed
        is_there &= fn.col(PARSED_KEY).isNull()
    is_malformed = is_there & raw.isNull()
    if column.path:
        is_malformed |= has_unpaired_surrogate(_text())
    malformed = fn.when(is_malformed, fn.lit(DeadLetterReason.MALFORMED_KEY.value))
    fault = malformed if found.fault is None else fn.coalesce(malformed, found.fault)
    return JsonColumn(json_type=kind, value=found.value, fault=fault)


def raw_key(column: MappedColumn) -> Column:
    """Return the column's part of the key, null where there is none."""
    return _raw(column, json_type(column.type, column=column.name))


def _raw(column: MappedColumn, kind: spark_types.DataType) -> Column:
    if column.path:
        return reduce(lambda value, name: value.getField(name), column.path, fn.col(PARSED_KEY))
    if isinstance(kind, spark_types.BinaryType):
        return fn.col("key")
    if isinstance(kind, spark_types.StringType):
        return fn.when(_is_text(), _text())
    is_scalar = fn.rlike(_text(), fn.lit(_SCALAR))
    return fn.when(_is_text() & is_scalar, _from_json(_text(), kind).getField(_ROOT))


def _text() -> Column:
    return fn.col("key").cast("string")


def _is_text() -> Column:
    return fn.is_valid_utf8(_text())


def _from_json(text: Column, kind: spark_types.DataType) -> Column:
    """Return a parsed JSON text. It is wrapped as the only field of an object, so that text after it is an error."""
    schema = spark_types.StructType([spark_types.StructField(_ROOT, kind)])
    wrapped = fn.concat(fn.lit(f'{{"{_ROOT}":'), text, fn.lit("}"))
    return fn.from_json(wrapped, schema, {"mode": "PERMISSIVE", "allowSingleQuotes": "false"})


def _struct(tree: dict[str, Any]) -> spark_types.StructType:
    return spark_types.StructType(
        [
            spark_types.StructField(name, _struct(node) if isinstance(node, dict) else node)
            for name, node in tree.items()
        ]
    )
