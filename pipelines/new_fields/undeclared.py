"""Whether a message has fields that its stream does not declare, asked in the JVM for every record.

The names in each object are read once more, and compared only where there are more of them than
columns got a value. Streams that ignore such fields do not ask.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Final

from pyspark.sql import (
    Column,
    functions as fn,
    types as spark_types,
)

from lake import DataType, TypeRoot
from pipelines.new_fields.field_tree import FieldTree, field_tree
from pipelines.stream_plan import StreamPlan

_STRING: Final = spark_types.StringType()
_MAP: Final = "map<string, string>"


def has_undeclared(message: Column, text: Column, plan: StreamPlan, *, nulls_count: bool) -> Column:
    """Return whether a message has a field that is not declared; never null.

    May be true of a message without one, whose names are there twice.

    Args:
        message: As `from_json` gives it, declared fields only.
        text: The JSON text.
        plan: The stream.
        nulls_count: Whether a field that is null is one, too.
    """
    return _any_of(_in_object(message, text, field_tree(plan), _Test(nulls_count)))


class _Test:
    """Compares the names in one object with those that are known."""

    def __init__(self, nulls_count: bool) -> None:
        self._nulls_count = nulls_count

    def __call__(self, text: Column, names: list[str], values: list[Column] | None) -> Column:
        """Return whether the object has others; null when it is none.

        Args:
            text: The object.
            names: That are known.
            values: The parsed fields of those names that are parsed; None: they are not at hand.
        """
        keys = fn.json_object_keys(text)
        if self._nulls_count:
            literals = fn.array(*[fn.lit(name) for name in names])
            unknown = fn.size(fn.array_except(keys, literals)) > 0
        else:
            # Only here are the values read: null when a name is there twice, which Python looks at.
            texts = fn.from_json(text, _MAP)
            others = fn.map_filter(texts, lambda name, value: value.isNotNull() & ~name.isin(names))
            unknown = fn.coalesce(fn.size(others) > 0, fn.expr("true"))
        present = [fn.when(value.isNotNull(), 1).otherwise(0) for value in values or ()]
        known = reduce(lambda left, right: left + right, present, fn.lit(0))
        return fn.when(fn.size(keys) > known, unknown)


def _in_object(parsed: Column, text: Column, tree: FieldTree, test: _Test) -> Iterable[Column]:
    if tree.is_watched:
        yield test(text, sorted(tree.names), [parsed.getField(n) for n in _read(tree)])
    nested = [*tree.objects, *(name for name, t in tree.values.items() if _holds_row(t))]
    texts = _texts(text, nested)
    for name, inner in tree.objects.items():
        yield from _in_object(parsed.getField(name), texts(name), inner, test)
    for name, data_type in tree.values.items():
        if _holds_row(data_type):
            yield from _in_value(texts(name), data_type, parsed.getField(name), test)


def _in_value(
    text: Column, data_type: DataType, parsed: Column | None, test: _Test
) -> Iterable[Column]:
    match data_type.root:
        case TypeRoot.ROW:
            names = [field.name for field in data_type.fields]
            known = None if parsed is None else [parsed.getField(name) for name in names]
            yield test(text, names, known)
            inner = [field for field in data_type.fields if _holds_row(field.type)]
            texts = _texts(text, [field.name for field in inner])
            for field in inner:
                below = None if parsed is None else parsed.getField(field.name)
                yield from _in_value(texts(field.name), field.type, below, test)
        case TypeRoot.ARRAY:
            items = fn.from_json(text, spark_types.ArrayType(_STRING))
            yield _among(items, data_type.element, test)
        case TypeRoot.MAP:
            values = fn.from_json(text, _MAP)
            yield _among(fn.map_values(values), data_type.value, test)
        case _:
            return


def _among(texts: Column, data_type: DataType | None, test: _Test) -> Column:
    assert data_type is not None
    return fn.exists(texts, lambda text: _any_of(_in_value(text, data_type, None, test)))


def _texts(text: Column, names: list[str]) -> Callable[[str], Column]:
    """Return what gives the JSON text of an object's field."""
    fields = [spark_types.StructField(name, _STRING) for name in names]
    parsed = fn.from_json(text, spark_types.StructType(fields)) if fields else None

    def of(name: str) -> Column:
        assert parsed is not None
        return parsed.getField(name)

    return of


def _read(tree: FieldTree) -> tuple[str, ...]:
    return (*tree.objects, *tree.values)


def _holds_row(data_type: DataType) -> bool:
    if data_type.root is TypeRoot.ROW:
        return True
    held = data_type.element or data_type.value
    return held is not None and _holds_row(held)


def _any_of(tests: Iterable[Column]) -> Column:
    no = fn.expr("false")
    return reduce(lambda left, right: left | right, [fn.coalesce(t, no) for t in tests], no)
