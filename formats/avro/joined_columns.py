"""Joining of parts of columns: the values of the branches of a union, and the items of lists, one step per position in a list."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from braid.formats.avro.cursors import Ints
from braid.formats.field_tree import FieldTree
from braid.lake import DataType, to_arrow_type

Path: TypeAlias = tuple[str, ...]
Columns: TypeAlias = dict[Path, pa.Array]


def empty_columns(tree: FieldTree, path: Path, count: int) -> Columns:
    """Return the columns of a tree without any value."""
    found = {
        (*path, name): pa.nulls(count, to_arrow_type(data_type))
        for name, data_type in tree.values.items()
    }
    for name, below in tree.objects.items():
        found |= empty_columns(below, (*path, name), count)
    return found


def joined_branches(parts: Sequence[tuple[Ints, pa.Array]], nothing: pa.Array) -> pa.Array:
    """Return one array of the values of all branches, in the order of their messages.

    Args:
        parts: For each branch the places of its values, and the values.
        nothing: Nulls, as many as there are places.
    """
    filled = [(places, array) for places, array in parts if array.null_count < len(array)]
    if not filled:
        return nothing
    order = np.zeros(len(nothing), np.int64)
    is_null = np.ones(len(nothing), bool)
    first = 0
    for places, array in filled:
        order[places] = np.arange(first, first + len(array))
        is_null[places] = False
        first += len(array)
    return pa.concat_arrays([array for _, array in filled]).take(pa.array(order, mask=is_null))


def joined_items(
    places: Sequence[Ints],
    arrays: Sequence[Sequence[pa.Array]],
    types: Sequence[DataType],
    count: int,
) -> tuple[pa.Array, list[pa.Array], Ints]:
    """Return the items of lists, list by list.

    Args:
        places: For each step the lists of its items.
        arrays: For each part of an item (keys and values of maps), its array of each step.
        types: The types of the parts.
        count: The number of lists.

    Returns:
        The offsets of the lists, the arrays of the parts, and for each item its list.
    """
    owners = np.concatenate([np.zeros(0, np.int64), *places])
    order = np.argsort(owners, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=count))))
    joined = [
        pa.concat_arrays([pa.nulls(0, to_arrow_type(kind)), *parts]).take(pa.array(order))
        for parts, kind in zip(arrays, types, strict=True)
    ]
    return pa.array(offsets, pa.int32()), joined, owners[order]
