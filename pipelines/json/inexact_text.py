"""Marks of messages whose texts Spark would not keep as written, asked in the JVM for every record.

A text column takes any JSON value as its text, and `from_json` copies numbers with a fraction or an
exponent through a double: `1.10` becomes `1.1`. Such records are marked, and `sink.exact_text` takes
their texts from the message. A text that is given as a text is cheap to tell: the message has no number
after the field's name. Marked as well are messages with half of a surrogate pair (`half_pairs`).
"""

import re
from collections.abc import Iterable
from functools import reduce
from typing import Final

from pyspark.sql import (
    Column,
    functions as fn,
)

from formats.mapped_column import MappedColumn
from formats.unpaired_surrogates import may_hold_surrogate
from lake import DataType, TypeRoot
from pipelines.json.surrogate_check import has_unpaired_surrogate
from pipelines.stream.stream_plan import StreamPlan

# How Spark writes a double, alone or somewhere in an array or an object.
_DOUBLE: Final = r'(?:-?\d+\.\d|"-?Infinity")'
_COPIED: Final = rf"^(?:{_DOUBLE}|(?=[\[{{])(?s:.*?)[:\[,]{_DOUBLE})"
_NUMBER: Final = r"-?\d+[.eE]"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def has_inexact_text(message: Column, text: Column, plan: StreamPlan) -> Column | None:
    """Return whether texts may have lost digits or characters, never null; None without such columns.

    Args:
        message: As `from_json` gives it.
        text: The JSON text.
        plan: The stream.
    """
    tests = []
    for column in plan.value_columns:
        if holds_text(column.type):
            value = reduce(lambda inner, name: inner.getField(name), column.path, message)
            # The second is asked of few.
            found = _any_of(_in_value(value, column.type))
            tests.append(fn.when(found, fn.rlike(text, fn.lit(_written(column)))))
    if any(may_hold_surrogate(column.type) for column in plan.value_columns):
        tests.append(has_unpaired_surrogate(text))
    return _any_of(tests) if tests else None


def holds_text(data_type: DataType) -> bool:
    """Return whether a type is a text or has one in it; the keys of a MAP are texts as written."""
    inner = (data_type.element, data_type.value, *(field.type for field in data_type.fields))
    return _is_text(data_type) or any(part is not None and holds_text(part) for part in inner)


def _is_text(data_type: DataType) -> bool:
    return data_type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR)


def _written(column: MappedColumn) -> str:
    """Return the pattern of messages that may have such a number for a column."""
    name = column.path[-1]
    if not _is_text(column.type) or not _PLAIN_NAME.fullmatch(name):
        return rf"[:\[,]\s*{_NUMBER}"
    # Or the name may be written with escapes.
    return rf'"{name}"\s*:\s*(?:{_NUMBER}|[\[{{])|\\u00'


def _in_value(value: Column, data_type: DataType) -> Iterable[Column]:
    match data_type.root:
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            yield _may_be_number(value) & fn.rlike(value, fn.lit(_COPIED))
        case TypeRoot.ARRAY if data_type.element is not None:
            yield _among(value, data_type.element)
        case TypeRoot.MAP if data_type.value is not None:
            yield _among(fn.map_values(value), data_type.value)
        case _:
            for field in data_type.fields:
                if holds_text(field.type):
                    yield from _in_value(value.getField(field.name), field.type)


def _may_be_number(value: Column) -> Column:
    """Return whether a text begins as a copied number does: told cheaply, of most texts not."""
    is_digit = (value >= "-") & (value < ":")  # and little else
    return reduce(lambda left, mark: left | value.startswith(mark), '"[{', is_digit)


def _among(values: Column, data_type: DataType) -> Column:
    return fn.exists(values, lambda one: _any_of(_in_value(one, data_type)))


def _any_of(tests: Iterable[Column]) -> Column:
    no = fn.expr("false")
    return reduce(lambda left, right: left | right, [fn.coalesce(t, no) for t in tests], no)
