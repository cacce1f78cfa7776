"""CHAR values of ORC files, without the padding of the format.

ORC pads a CHAR with blanks to its length. Java's reader strips trailing blanks in every column that is
declared CHAR, whether they are padding or data; Arrow's reader does not.

So an ORC file cannot hold a CHAR that ends in blanks, and rows with such a value are refused. When a file
is rewritten as ORC, such values may come from a file of another format, or from a cast, which pads too.
Then their blanks are stripped before the file's bounds and indexes are made. In a key such values are
refused even then: the row would be read with the stripped key, which may belong to another bucket.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem
from braid.lake.format.arrow_types import elements
from braid.lake.format.data_types import DataType, TypeRoot

_HINT = (
    "cut the blanks off, make the column a VARCHAR, or keep it in Parquet or Avro files: "
    "set `file.format`"
)


def holds_chars(data_type: DataType) -> bool:
    """Return whether values of this type, or parts of them, are CHAR."""
    return data_type.root is TypeRoot.CHAR or any(map(holds_chars, _parts(data_type)))


def without_padding(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return the array with trailing blanks stripped from CHAR values at any depth.

    Args:
        array: An array that is not a slice.
        data_type: Declared type of the values.
    """
    if not holds_chars(data_type):
        return array
    if data_type.root is TypeRoot.CHAR:
        return pc.ascii_rtrim(array, characters=" ")
    assert array.offset == 0, "the buffers are reused, which a slice would shift"
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
    """Return a column as it will be read from an ORC file; the same column if no CHAR ends in blanks."""
    if not holds_chars(data_type) or not any(orc_char_problems("", column, data_type)):
        return column
    # `take` copies, so that no chunk is a slice.
    chunks = [
        without_padding(chunk.take(pa.array(range(len(chunk)), pa.int64())), data_type)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def orc_char_problems(name: str, column: pa.ChunkedArray, data_type: DataType) -> Iterator[Problem]:
    """Yield the first CHAR of a column, at any depth, that ends in blanks.

    Args:
        name: Name of the column.
        column: The column in the Arrow form of its type.
        data_type: Declared type of the column.
    """
    for chars in (found for chunk in column.chunks for found in _chars(chunk, data_type)):
        index = pc.index(pc.ends_with(chars, " "), True).as_py()
        if index >= 0:
            yield Problem(
                field=name,
                value=chars[index].as_py(),
                message="a CHAR that ends in blanks cannot be kept in an ORC file, which pads "
                "every CHAR with blanks",
                hint=_HINT,
            )
            return


def _chars(array: pa.Array, data_type: DataType) -> Iterator[pa.Array]:
    """Yield the CHAR values of an array, one array per leaf, without values inside of null."""
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
    # Not `strict`: the counts of a MULTISET have an Arrow child but no declared type.
    for child, part in zip(children, _parts(data_type), strict=False):
        yield from _chars(child, part)


def _parts(data_type: DataType) -> list[DataType]:
    """Return the types inside a nested type, in the order of the Arrow children."""
    inner = (data_type.element, data_type.key, data_type.value)
    return [part for part in inner if part is not None] + [f.type for f in data_type.fields]


def _rebuilt(array: pa.Array, children: list[pa.Array]) -> pa.Array:
    count = 1 if pa.types.is_struct(array.type) else 2
    return pa.Array.from_buffers(array.type, len(array), array.buffers()[:count], children=children)
