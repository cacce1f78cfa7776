"""Ids of new fields, above every id that the table has ever used.

Source: merge-semantics 8.1.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from braid.lake.format.data_types import DataField, DataType


def number_new_field(field: DataField, *, highest_field_id: int) -> tuple[DataField, int]:
    """Return a new column with new ids, and the highest id of the table including these.

    The column gets the lowest new id. Its nested fields get the next ones, each after the fields inside it.
    """
    ids = count(highest_field_id + 1)
    own = next(ids)
    numbered = replace(field, id=own, type=number_nested(field.type, ids))
    highest = next(ids) - 1
    assert highest > highest_field_id, "the column has an id of its own"
    return numbered, highest


def number_nested(data_type: DataType, ids: Iterator[int]) -> DataType:
    """Return the type with new ids for its fields; a field gets its id after the fields inside it."""
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
