"""Ids of new fields, above every id that the table has ever used.

Source: merge-semantics 8.1.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from braid.lake.format.data_types import DataField, DataType


def number_new_field(field: DataField, *, highest_field_id: int) -> tuple[DataField, int]:
    """Return a new column with its ids, and the highest id of the table with it.

    The column has the lowest id; nested fields follow, each after those inside it.
    """
    ids = count(highest_field_id + 1)
    own = next(ids)
    numbered = replace(field, id=own, type=number_nested(field.type, ids))
    highest = next(ids) - 1
    assert highest > highest_field_id, "the column has an id of its own"
    return numbered, highest


def number_nested(data_type: DataType, ids: Iterator[int]) -> DataType:
    """Return the type with new ids for its fields, each after those inside it."""
    if not data_type.is_nested:
        return data_type

    def part(one: DataType | None) -> DataType | None:
        return one and number_nested(one, ids)

    fields = []
    for field in data_type.fields:
        inner = number_nested(field.type, ids)
        fields.append(replace(field, id=next(ids), type=inner))
    return replace(
        data_type,
        key=part(data_type.key),
        value=part(data_type.value),
        element=part(data_type.element),
        fields=tuple(fields),
    )
