"""Check for undeclared fields in messages, evaluated in the JVM for every record.

`from_json` has read the declared fields only, so the names in the message are read once more. The names are
counted first. They are compared only where an object has more names than declared fields with a value. So a
message costs only the count if each of its fields is declared by this stream and has a value. Explicit nulls,
and fields that only other streams read from the topic, cost the comparison. For inner objects that columns are
read from, an outline is read, in which each object is a MAP from names to JSON texts. Streams that ignore
undeclared fields have no such check.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import (
    Column,
    functions as fn,
)

from braid.lake import DataType, TypeRoot
from braid.pipelines.new_fields.field_tree import FieldTree, field_tree
from braid.pipelines.stream_plan import StreamPlan

_OBJECT: Final = "map<string, string>"


def has_undeclared_fields(
    message: Column, text: Column, plan: StreamPlan, *, nulls_count: bool
) -> Column:
    """Return whether a message has a field that is not declared; never null.

    May also be true of a message in which a name occurs twice: the reader in Python decides.

    Args:
        message: The message as `from_json` returns it, with declared fields only.
        text: The JSON text.
        plan: The stream.
        nulls_count: Whether a field that is null counts as undeclared.
    """
    return _any_of(_in_message(message, text, field_tree(plan), _Test(nulls_count)))


class _Test:
    """The test of one object: whether it has names that are not known."""

    def __init__(self, nulls_count: bool) -> None:
        self._nulls_count = nulls_count

    def of_text(self, text: Column, names: Sequence[str], values: Sequence[Column]) -> Column:
        """Return whether a JSON text has unknown names; null when it is not an object.

        Args:
            text: The object.
            names: The known names.
            values: The object's parsed fields.
        """
        # `json_object_keys` is faster, and returns null for a text with NaN, which is not JSON and which
        # `from_json` accepts.
        keys = fn.coalesce(fn.json_object_keys(text), fn.map_keys(fn.from_json(text, _OBJECT)))
        if self._nulls_count:
            return _when_more(keys, values, _has_others(keys, names))
        # The values are read only where there are more names than values; null when a name occurs twice.
        others = fn.coalesce(_has_values(fn.from_json(text, _OBJECT), names), fn.expr("true"))
        return _when_more(keys, values, others)

    def of_outline(self, outline: Column, names: Sequence[str], values: Sequence[Column]) -> Column:
        """Return whether an object has unknown names; null where there is no object.

        Args:
            outline: The object.
            names: The known names.
            values: The object's parsed fields; empty where they are not available.
        """
        keys = fn.map_keys(outline)
        has = _has_others(keys, names) if self._nulls_count else _has_values(outline, names)
        return _when_more(keys, values, has)


def _when_more(keys: Column, values: Sequence[Column], test: Column) -> Column:
    """Return the test where there are more names than fields with a value, else null."""
    present = [fn.when(value.isNotNull(), 1).otherwise(0) for value in values]
    return fn.when(fn.size(keys) > reduce(lambda a, b: a + b, present, fn.lit(0)), test)


def _has_others(keys: Column, names: Sequence[str]) -> Column:
    return fn.size(fn.array_except(keys, fn.array(*[fn.lit(name) for name in names]))) > 0


def _has_values(outline: Column, names: Sequence[str]) -> Column:
    others = fn.map_filter(outline, lambda name, value: value.isNotNull() & ~name.isin(names))
    return fn.size(others) > 0


def _in_message(parsed: Column, text: Column, tree: FieldTree, test: _Test) -> Iterable[Column]:
    if tree.has_columns:
        yield test.of_text(text, sorted(tree.names), _values(parsed, tree))
    outlines = dict.fromkeys(tree.objects, _OBJECT) | {
        name: _outline(data_type) for name, data_type in _rows(tree).items()
    }
    if outlines:
        fields = ", ".join(f"`{_quoted(name)}`: {outline}" for name, outline in outlines.items())
        read = fn.from_json(text, f"struct<{fields}>")
        yield from _inside(parsed, {name: read.getField(name) for name in outlines}, tree, test)


def _inside(
    parsed: Column, outlines: dict[str, Column], tree: FieldTree, test: _Test
) -> Iterable[Column]:
    """Yield the tests of the objects inside of a part of the message; `outlines` by the name of the field."""
    for name, outline in outlines.items():
        # The field has a value and no outline: somewhere in it a name occurs twice.
        yield parsed.getField(name).isNotNull() & outline.isNull()
    for name, inner in tree.objects.items():
        below, outline = parsed.getField(name), outlines[name]
        if inner.has_columns:
            yield test.of_outline(outline, sorted(inner.names), _values(below, inner))
        nested = {deep: _within(outline, deep, _OBJECT) for deep in inner.objects} | {
            deep: _within(outline, deep, _outline(data_type))
            for deep, data_type in _rows(inner).items()
        }
        yield from _inside(below, nested, inner, test)
    for name, data_type in _rows(tree).items():
        yield from _in_value(outlines[name], data_type, parsed.getField(name), test)


def _in_value(
    outline: Column, data_type: DataType, parsed: Column | None, test: _Test
) -> Iterable[Column]:
    match data_type.root:
        case TypeRoot.ROW:
            names = [field.name for field in data_type.fields]
            values = [] if parsed is None else [parsed.getField(name) for name in names]
            yield test.of_outline(outline, names, values)
            for field in data_type.fields:
                if _holds_row(field.type):
                    below = None if parsed is None else parsed.getField(field.name)
                    inner = _within(outline, field.name, _outline(field.type))
                    yield from _in_value(inner, field.type, below, test)
        case TypeRoot.ARRAY:
            yield _among(outline, data_type.element, test)
        case TypeRoot.MAP:
            yield _among(fn.map_values(outline), data_type.value, test)
        case _:
            return


def _among(outlines: Column, data_type: DataType | None, test: _Test) -> Column:
    assert data_type is not None
    return fn.exists(outlines, lambda one: _any_of(_in_value(one, data_type, None, test)))


def _within(outline: Column, name: str, inner: str) -> Column:
    """Return the outline of a field of an object."""
    return fn.from_json(fn.try_element_at(outline, fn.lit(name)), inner)


def _outline(data_type: DataType) -> str:
    """Return the outline of a type that contains a ROW, as a Spark type: each ROW is a MAP by field name."""
    match data_type.root:
        case TypeRoot.ARRAY if data_type.element is not None:
            return f"array<{_outline(data_type.element)}>"
        case TypeRoot.MAP if data_type.value is not None:
            return f"map<string, {_outline(data_type.value)}>"
        case _:
            return _OBJECT


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def _values(parsed: Column, tree: FieldTree) -> list[Column]:
    return [parsed.getField(name) for name in (*tree.objects, *tree.values)]


def _rows(tree: FieldTree) -> dict[str, DataType]:
    """Return the columns whose types are or contain a ROW."""
    return {name: data_type for name, data_type in tree.values.items() if _holds_row(data_type)}


def _holds_row(data_type: DataType) -> bool:
    if data_type.root is TypeRoot.ROW:
        return True
    held = data_type.element or data_type.value
    return held is not None and _holds_row(held)


def _any_of(tests: Iterable[Column]) -> Column:
    no = fn.expr("false")
    return reduce(lambda left, right: left | right, [fn.coalesce(t, no) for t in tests], no)
