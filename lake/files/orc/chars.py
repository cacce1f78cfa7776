"""CHAR values of ORC files, as readers of the format give them.

ORC pads a CHAR with blanks to its length. Java's reader cuts off the blanks at the end again, in every
column that is declared CHAR and whether it was the writer who put them there; Arrow's does not.

So no ORC file can keep a CHAR that ends in blanks, and rows with one are refused. A file that is
rewritten as ORC may have them from another format, or from a cast, which fills with blanks, too: they
are cut off before the file's bounds and indexes are made. In a key they are refused even then: the row
would be read with another key, in a bucket that is not that key's.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lake.errors import Problem
from lake.format.arrow_types import elements
from lake.format.data_types import DataType, TypeRoot

_HINT = (
    "cut the blanks off, make the column a VARCHAR, or keep it in Parquet or Avro files: "
    "set `file.format`"
)


def holds_chars(data_type: DataType) -> bool:
    """Return whether values of this type, or parts of them, are CHAR."""
    return data_type.root is TypeRoot.CHAR or any(map(holds_chars, _parts(data_type)))


def without_padding(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return an array whose CHAR values, at any depth, do not end in blanks.

    Args:
        array: Not a slice.
        data_type: Declared, of the values.
    """
    if not holds_chars(data_type):
        return array
    if data_type.root is TypeRoot.CHAR:
        return pc.ascii_rtrim(array, characters=" ")
    assert array.offset == 0, "offsets of nested arrays are those of whole ones"
    if data_type.root is TypeRoot.ARRAY:
        children = [array.values]
    elif data_type.root is TypeRoot.ROW:
        children = [array.field(index) for index in range(array.type.num_fields)]
    else:
        entries = array.values
        parts = [
            without_padding(entries.field(index), part)
            for index, part in enumerate(_parts(data_type))
        ]
        parts += [entries.field(index) for index in range(len(parts), 2)]
        return _rebuilt(array, [_rebuilt(entries, parts)])
    parts = [
        without_padding(child, part)
        for child, part in zip(children, _parts(data_type), strict=True)
    ]
    return _rebuilt(array, parts)


def cut_padding(column: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    """Return a column as it is read from an ORC file; the same one where no CHAR ends in blanks."""
    if not holds_chars(data_type) or not any(orc_char_problems("", column, data_type)):
        return column
    # Taken, so that no chunk is a slice.
    chunks = [
        without_padding(chunk.take(pa.array(range(len(chunk)), pa.int64())), data_type)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def orc_char_problems(name: str, column: pa.ChunkedArray, data_type: DataType) -> Iterator[Problem]:
    """Yield the first CHAR of a column, or inside of it, that ends in blanks.

    Args:
        name: Of the column.
        column: In the Arrow form of its type.
        data_type: Declared.
    """
    for chars in (found for chunk in column.chunks for found in _chars(chunk, data_type)):
        place = pc.index(pc.ends_with(chars, " "), True).as_py()
        if place >= 0:
            yield Problem(
                field=name,
                value=chars[place].as_py(),
                message="a CHAR that ends in blanks cannot be kept in an ORC file, which fills with them",
                hint=_HINT,
            )
            return


def _chars(array: pa.Array, data_type: DataType) -> Iterator[pa.Array]:
    """Yield the CHAR values of an array in parts, those under null left out."""
    if not holds_chars(data_type):
        return
    if data_type.root is TypeRoot.CHAR:
        yield array
        return
    if data_type.root is TypeRoot.ROW:
        children = array.flatten()
    elif data_type.root is TypeRoot.ARRAY:
        children = [elements(array)]
    else:
        children = elements(array).flatten()
    # The counts of a MULTISET have no type of their own.
    for child, part in zip(children, _parts(data_type), strict=False):
        yield from _chars(child, part)


def _parts(data_type: DataType) -> list[DataType]:
    """Return the types inside of a nested one, in the order of its Arrow form's."""
    inner = (data_type.element, data_type.key, data_type.value)
    return [part for part in inner if part is not None] + [f.type for f in data_type.fields]


def _rebuilt(array: pa.Array, children: list[pa.Array]) -> pa.Array:
    count = 1 if pa.types.is_struct(array.type) else 2
    return pa.Array.from_buffers(array.type, len(array), array.buffers()[:count], children=children)
