"""Inexact texts: marks of messages whose texts Spark does not keep as written, computed for every record.

A text column accepts any JSON value as its text, and `from_json` copies numbers with a fraction or an
exponent through a double: `1.10` becomes `1.1`. Such records are marked in the JVM, and `sink.exact_text`
reads their texts from the message. Messages with an unpaired surrogate are marked as well
(`surrogate_check`).

The mark has to be cheap, because nearly all texts are JSON strings. So there are three tests, the cheapest
first, and each runs only if the one before it holds:

1. The value begins like a copied number, an array or an object.
2. It has the form of a copied double, or contains this form.
3. The message may have a number with a fraction or an exponent in the field.
"""

import re
from collections.abc import Iterable
from functools import reduce
from typing import Final

from pyspark.sql import (
    Column,
    functions as fn,
)

from braid.formats.mapped_column import MappedColumn
from braid.formats.unpaired_surrogates import may_hold_surrogate
from braid.lake import DataType, TypeRoot
from braid.pipelines.json.surrogate_check import has_unpaired_surrogate
from braid.pipelines.stream_plan import StreamPlan

# A double as Spark writes it, alone or somewhere in an array or an object.
_DOUBLE: Final = r'(?:-?\d+\.\d|"-?Infinity")'
_COPIED: Final = rf"^(?:{_DOUBLE}|(?=[\[{{])(?s:.*?)[:\[,]{_DOUBLE})"
_NUMBER: Final = r"-?\d+[.eE]"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def has_inexact_text(message: Column, text: Column, plan: StreamPlan) -> Column | None:
    """Return whether texts may have lost digits or characters, never null; None where no column can lose any.

    Args:
        message: The message as `from_json` returns it.
        text: The JSON text.
        plan: The stream.
    """
    tests = []
    for column in plan.value_columns:
        if holds_text(column.type):
            assert column.path, "a column of the value has a path"
            value = reduce(lambda inner, name: inner.getField(name), column.path, message)
            # The search in the whole message runs only for values that look like a copied double.
            found = _any_of(_in_value(value, column.type))
            tests.append(fn.when(found, fn.rlike(text, fn.lit(_written(column)))))
    if any(may_hold_surrogate(column.type) for column in plan.value_columns):
        tests.append(has_unpaired_surrogate(text))
    return _any_of(tests) if tests else None


def holds_text(data_type: DataType) -> bool:
    """Return whether a type is a text or contains one; keys of a MAP do not count, because they stay as written."""
    inner = (data_type.element, data_type.value, *(field.type for field in data_type.fields))
    return _is_text(data_type) or any(part is not None and holds_text(part) for part in inner)


def _is_text(data_type: DataType) -> bool:
    return data_type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR)


def _written(column: MappedColumn) -> str:
    """Return a pattern that matches every message with such a number in a column's field, and few others."""
    name = column.path[-1]
    if not _is_text(column.type) or not _PLAIN_NAME.fullmatch(name):
        return rf"[:\[,]\s*{_NUMBER}"
    # The last alternative: the field's name may be written with escapes.
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
    """Return whether a text begins like a copied number, array or object; cheap, and false for most texts."""
    is_digit = (value >= "-") & (value < ":")  # digits, and `-`, `.`, `/`
    return reduce(lambda left, mark: left | value.startswith(mark), '"[{', is_digit)


def _among(values: Column, data_type: DataType) -> Column:
    return fn.exists(values, lambda one: _any_of(_in_value(one, data_type)))


def _any_of(tests: Iterable[Column]) -> Column:
    """Return whether a test holds; a test that is null does not."""
    no = fn.expr("false")
    return reduce(lambda left, right: left | right, [fn.coalesce(t, no) for t in tests], no)
