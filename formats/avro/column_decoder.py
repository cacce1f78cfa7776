"""Column decoder: the columns of a stream from a batch of Avro records of one schema, vectorised.

All cursors advance together over the first field of every message, then over the second field, and so on. A union
divides the messages by their branches. Of lists, the first items of all lists are read together, then all second items,
and so on. A message becomes odd (`cursors`), and the exact decoder decides about it, if its bytes do not fit the
schema, if a value does not fit its column, or if a column of texts gets a list, map or record. Steps for fewer than 32
messages, such as the items of by far the longest lists, are limited to 1,000 in a batch; after that, the messages that
need such a step become odd too.

Source: Apache Avro 1.12 specification, "Binary Encoding".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from braid.formats.arrays import null_rows
from braid.formats.avro.cursors import Cursors, Ints, Mask
from braid.formats.avro.joined_columns import (
    Columns,
    Path,
    empty_columns,
    joined_branches,
    joined_items,
)
from braid.formats.avro.leaf_decoder import (
    has_leaf_array,
    read_indexes,
    read_leaves,
    read_texts,
)
from braid.formats.avro.schema import EMPTY_VALUES_MAX, NESTING_MAX, AvroKind, AvroType
from braid.formats.field_tree import FieldTree
from braid.formats.native.kinds import NativeKind
from braid.formats.native.leaf_arrays import Leaf, leaf_column
from braid.lake import DataType, TypeRoot, to_arrow_type

# A step costs as much for few messages as for many: the messages of a batch that have by far the longest lists, or
# the deepest trees, are left to the exact decoder.
_FEW_ROWS: Final = 32
_STEPS_FOR_FEW_MAX: Final = 1_000
_USUAL_MIN: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRecords:
    """What a batch of records holds for the fields of a tree.

    Attributes:
        columns: By path, the column of each field, null where a message has no such field; values of odd rows
            are arbitrary.
        missing: By path, where the message has no such field; arbitrary in odd rows.
        odd: The rows that have to be decoded exactly, ascending.
    """

    columns: Columns
    missing: Mapping[Path, Mask]
    odd: Ints


def decode_columns(payloads: pa.BinaryArray, record: AvroType, tree: FieldTree) -> DecodedRecords:
    """Return the columns of a batch.

    Args:
        payloads: The messages, each one record; no nulls.
        record: Their type.
        tree: The fields that columns are read from.
    """
    cursors = Cursors(payloads)
    decoder = _Decoder(cursors, EMPTY_VALUES_MAX - record.empty_values)
    columns = decoder.fields(record, tree, (), np.arange(len(payloads)), 0)
    cursors.finish()
    nothing = np.ones(len(payloads), bool)
    missing = {path: decoder.missing.get(path, nothing) for path in columns}
    return DecodedRecords(columns=columns, missing=missing, odd=np.flatnonzero(cursors.is_odd))


class _Decoder:
    def __init__(self, cursors: Cursors, empty_left: int) -> None:
        self._cursors = cursors
        self._empty_left: Ints = np.full(len(cursors.is_odd), empty_left)
        self._steps_for_few = 0
        self.missing: dict[Path, Mask] = {}

    def fields(
        self, declared: AvroType, tree: FieldTree, path: Path, rows: Ints, depth: int
    ) -> Columns:
        """Read values from which fields are read, but no column as a whole."""
        if declared.kind is AvroKind.UNION:
            return self._fields_of_union(declared, tree, path, rows, depth)
        found = empty_columns(tree, path, len(rows))
        if not len(rows):
            return found
        if declared.kind is not AvroKind.RECORD:
            self.skip(declared, rows, depth)
            if declared.kind is not AvroKind.NULL:
                self._cursors.refuse(rows)
            return found
        for name, part in declared.fields.items():
            if name in tree.objects:
                found |= self.fields(part, tree.objects[name], (*path, name), rows, depth + 1)
            elif name in tree.values:
                here = (*path, name)
                found[here] = self.column(part, tree.values[name], rows, depth + 1)
                missing = np.ones(len(self._cursors.is_odd), bool)
                self.missing.setdefault(here, missing)[rows] = False
            else:
                self.skip(part, rows, depth + 1)
        return found

    def _fields_of_union(
        self, declared: AvroType, tree: FieldTree, path: Path, rows: Ints, depth: int
    ) -> Columns:
        parts = [
            (places, self.fields(branch, tree, path, rows[places], depth))
            for branch, places in self._branches(declared, rows)
        ]
        if len(parts) == 1 and len(parts[0][0]) == len(rows):
            return parts[0][1]
        found = empty_columns(tree, path, len(rows))
        for name, nothing in found.items():
            found[name] = joined_branches([(places, part[name]) for places, part in parts], nothing)
        return found

    def column(self, declared: AvroType, data_type: DataType, rows: Ints, depth: int) -> pa.Array:
        """Read values as a column; those that it does not hold make their rows odd."""
        wanted = to_arrow_type(data_type)
        if not len(rows):
            return pa.nulls(0, wanted)
        if depth > NESTING_MAX:
            self._cursors.refuse(rows)
            return pa.nulls(len(rows), wanted)
        match declared.kind, data_type.root:
            case AvroKind.UNION, _:
                parts = [
                    (places, self.column(branch, data_type, rows[places], depth))
                    for branch, places in self._branches(declared, rows)
                ]
                if len(parts) == 1 and len(parts[0][0]) == len(rows):
                    return parts[0][1]
                return joined_branches(parts, pa.nulls(len(rows), wanted))
            case AvroKind.RECORD, TypeRoot.ROW:
                return self._row(declared, data_type, rows, depth)
            case AvroKind.ARRAY, TypeRoot.ARRAY:
                return self._list(declared, data_type, rows, depth)
            case AvroKind.MAP, TypeRoot.MAP:
                return self._map(declared, data_type, rows, depth)
            case _ if has_leaf_array(declared):
                values = read_leaves(self._cursors, declared, rows)
                return self._column_of_leaf(values, declared, data_type, rows)
            case _:
                self._cursors.refuse(rows)
                return pa.nulls(len(rows), wanted)

    def skip(self, declared: AvroType, rows: Ints, depth: int) -> None:
        """Advance past values."""
        cursors = self._cursors
        if not len(rows):
            return
        if depth > NESTING_MAX:
            cursors.refuse(rows)
            return
        match declared.kind:
            case AvroKind.UNION:
                for branch, places in self._branches(declared, rows):
                    self.skip(branch, rows[places], depth)
            case AvroKind.RECORD:
                for part in declared.fields.values():
                    self.skip(part, rows, depth + 1)
            case AvroKind.ARRAY | AvroKind.MAP:
                self._skip_items(declared, rows, depth + 1)
            case AvroKind.NULL:
                pass
            case AvroKind.BYTES:
                cursors.spans(rows, cursors.longs(rows))
            case AvroKind.FIXED:
                cursors.spans(rows, declared.size)
            case _:  # what does not fit its type is a fault, wanted or not
                read_leaves(cursors, declared, rows)

    def _skip_items(self, declared: AvroType, rows: Ints, depth: int) -> None:
        item = declared.item
        assert item is not None, "arrays and maps have a type of items"
        if declared.kind is AvroKind.MAP:

            def skip_entry(some: Ints) -> None:
                read_texts(self._cursors, some)
                self.skip(item, some, depth)

            self._items(rows, item.empty_parts, skip_entry)
        elif not item.is_empty:
            self._items(rows, item.empty_values, lambda some: self.skip(item, some, depth))
        else:  # a block of any number of items has only its count
            while len(rows):
                if self._is_long_for(rows):
                    self._cursors.refuse(rows)
                    return
                rows = rows[self._block_counts(rows, item.empty_values) > 0]
                self.skip(item, rows, depth)

    def _branches(self, declared: AvroType, rows: Ints) -> list[tuple[AvroType, Ints]]:
        """Return the branches that occur, each with the places in `rows` of its messages; none for odd rows."""
        cursors = self._cursors
        if self._is_long_for(rows):
            cursors.refuse(rows)
            return []
        chosen = read_indexes(cursors, len(declared.branches), rows)
        is_odd = cursors.is_odd[rows] if cursors.has_odd else np.zeros(len(rows), bool)
        usual = np.flatnonzero(~is_odd)
        # A few odd rows go with the others: joining branches costs more. Behind the last message a recursive type
        # would not end, and many rows that are odd would hide that there are few others.
        if len(usual) < len(rows) * _USUAL_MIN:
            chosen[is_odd] = -1
        else:
            chosen[is_odd] = chosen[usual[0]]
        first = chosen[0]
        if first >= 0 and (chosen == first).all():
            found = [(declared.branches[first], np.arange(len(rows)))]
        else:
            found = [
                (declared.branches[index], np.flatnonzero(chosen == index))
                for index in np.unique(chosen).tolist()
                if index >= 0
            ]
        for branch, places in found:
            if branch.empty_parts:
                self._count_empty(rows[places], np.ones(len(places), np.int64), branch.empty_parts)
        return found

    def _count_empty(self, rows: Ints, counts: Ints, each: int) -> None:
        """Count values without a byte; rows with too many become odd.

        Args:
            rows: The rows.
            counts: The number of items in each of them, at least 0.
            each: The number of values without a byte in an item, more than 0.
        """
        left = self._empty_left[rows]
        is_wrong = counts > left // each  # a product could overflow
        self._cursors.refuse(rows[is_wrong])
        self._empty_left[rows] = left - np.where(is_wrong, 0, counts) * each

    def _is_long_for(self, rows: Ints) -> bool:
        """Return whether too many steps were taken for a few rows; counts this one."""
        self._steps_for_few += len(rows) < _FEW_ROWS
        return self._steps_for_few > _STEPS_FOR_FEW_MAX and len(rows) < _FEW_ROWS

    def _row(self, declared: AvroType, data_type: DataType, rows: Ints, depth: int) -> pa.Array:
        types = {field.name: field.type for field in data_type.fields}
        found: dict[str, pa.Array] = {}
        for name, part in declared.fields.items():
            if name in types:
                found[name] = self.column(part, types[name], rows, depth + 1)
            else:
                self.skip(part, rows, depth + 1)
        arrays = []
        for name, part_type in types.items():
            array = found.get(name)
            if array is None:
                array = pa.nulls(len(rows), to_arrow_type(part_type))
            self._refuse_nulls(array, part_type, rows)
            arrays.append(array)
        return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(data_type)))

    def _list(self, declared: AvroType, data_type: DataType, rows: Ints, depth: int) -> pa.Array:
        assert declared.item is not None, "an array has a type of items"
        assert data_type.element is not None, "an ARRAY has an element type"
        item, element = declared.item, data_type.element
        arrays: list[pa.Array] = []
        places = self._items(
            rows,
            item.empty_values,
            lambda some: arrays.append(self.column(item, element, some, depth + 1)),
        )
        offsets, (items,), owners = joined_items(places, [arrays], [element], len(rows))
        self._refuse_nulls(items, element, rows[owners])
        return pa.ListArray.from_arrays(offsets, items, type=to_arrow_type(data_type))

    def _map(self, declared: AvroType, data_type: DataType, rows: Ints, depth: int) -> pa.Array:
        assert declared.item is not None, "a map has a type of values"
        assert data_type.key is not None, "a MAP has a key type"
        assert data_type.value is not None, "a MAP has a value type"
        item, types = declared.item, [data_type.key, data_type.value]
        keys: list[pa.Array] = []
        values: list[pa.Array] = []

        def read(some: Ints) -> None:
            texts = read_texts(self._cursors, some)
            keys.append(self._column_of_leaf(texts, _TEXT, types[0], some))
            values.append(self.column(item, types[1], some, depth + 1))

        places = self._items(rows, item.empty_parts, read)
        offsets, (key, value), owners = joined_items(places, [keys, values], types, len(rows))
        self._refuse_nulls(value, types[1], rows[owners])
        self._refuse_repeated(key, owners, rows)
        wanted = to_arrow_type(data_type)
        # A key that the column does not hold is null in an odd row, where Arrow allows none.
        return pa.MapArray.from_arrays(offsets, key.fill_null(""), value, type=wanted)

    def _refuse_nulls(self, array: pa.Array, data_type: DataType, rows: Ints) -> None:
        if array.null_count and not data_type.nullable:
            is_null = array.is_null().to_numpy(zero_copy_only=False)
            self._cursors.refuse(rows[is_null])

    def _refuse_repeated(self, keys: pa.Array, owners: Ints, rows: Ints) -> None:
        """Make the rows odd whose map has a key twice."""
        if len(keys) < 2:
            return
        encoded = keys.dictionary_encode()
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        both = np.sort(owners * (len(encoded.dictionary) + 1) + codes)
        twice = both[1:][both[1:] == both[:-1]] // (len(encoded.dictionary) + 1)
        self._cursors.refuse(rows[np.unique(twice)])

    def _items(self, rows: Ints, empty: int, read: Callable[[Ints], None]) -> list[Ints]:
        """Read the items of lists: all first ones, then all second ones, and so on.

        Args:
            rows: The rows.
            empty: The number of values without a byte in an item.
            read: Reads one item in each of some rows.

        Returns:
            For each call of `read` the places of its rows in `rows`.
        """
        cursors = self._cursors
        left = self._step_counts(rows, empty)
        places = []
        while len(active := np.flatnonzero(left)):
            if self._is_long_for(active):
                cursors.refuse(rows[active])
                break
            read(rows[active])
            places.append(active)
            left[active] -= 1
            ended = active[left[active] == 0]
            if len(ended):
                left[ended] = self._step_counts(rows[ended], empty)
            if cursors.has_odd:
                left[cursors.is_odd[rows]] = 0
        return places

    def _step_counts(self, rows: Ints, empty: int) -> Ints:
        """Read the number of items in the next blocks, each of which is a step."""
        counts = self._block_counts(rows, empty)
        # More items than bytes are possible, but not worth so many steps.
        wrong = np.flatnonzero(counts > self._cursors.left(rows))
        self._cursors.refuse(rows[wrong])
        counts[wrong] = 0
        return counts

    def _block_counts(self, rows: Ints, empty: int) -> Ints:
        """Read the number of items in the next blocks; 0 at their ends and in odd rows."""
        cursors = self._cursors
        counts = cursors.longs(rows)
        negative = np.flatnonzero(counts < 0)
        if len(negative):
            sizes = cursors.longs(rows[negative])  # in bytes, of the block
            cursors.refuse(rows[negative[sizes < 0]])
            counts[negative] = -counts[negative]
            cursors.refuse(rows[counts < 0])  # the smallest number has no opposite
        if cursors.has_odd:
            counts[cursors.is_odd[rows]] = 0
        if empty:
            self._count_empty(rows, counts, empty)
            counts[cursors.is_odd[rows]] = 0
        return counts

    def _column_of_leaf(
        self, values: pa.Array, declared: AvroType, data_type: DataType, rows: Ints
    ) -> pa.Array:
        assert declared.leaf is not None, "a type without parts is a leaf"
        if self._cursors.has_odd:  # a placeholder that does not fit would be decided by itself
            values = null_rows(values, np.flatnonzero(self._cursors.is_odd[rows]).tolist())
        column, unfit = leaf_column(values, declared.leaf, data_type)
        self._cursors.refuse(rows[list(unfit)])
        return column


_TEXT: Final = AvroType(AvroKind.STRING, leaf=Leaf(NativeKind.TEXT))
