"""The reader of Avro data files, which are kept in memory compressed.

If all columns of a file have plain types, a group of at least 32 blocks is decoded together
(`braid.lake.format.avro.block_decoder`). Other blocks are decoded record by record. Dates and times
are read as the stored numbers, and get the column's type afterwards.

Source: table-format 12.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow as pa

from braid.lake.errors import CorruptData
from braid.lake.files.avro.block_arrays import PER_SECOND, UNIT_OF, column_array
from braid.lake.files.format_reader import SinglePartReader
from braid.lake.files.storage.positioned_input import InputFile
from braid.lake.format.avro.block_decoder import PlainColumn, decode_columns, plain_columns
from braid.lake.format.avro.container import AvroBlock, decode_block, parsed_schema, read_blocks
from braid.lake.format.avro.resolution import not_null

_ReadValue: TypeAlias = Callable[[Any], Any] | None
"""Returns a value that Arrow accepts for a value of fastavro; None for the identity."""

# Python's default context rounds to 28 digits.
_EXACT: Final = Context(prec=76)

_BLOCKS_MIN: Final = 32
"""Smallest number of blocks for the block decoder; fewer blocks are decoded record by record. A step of the block
decoder handles one value of every block, so the more blocks there are, the less it costs per value. From this
number of blocks on it is about as fast as decoding record by record."""

_GROUP_ROWS: Final = 65_536
_GROUP_BYTES: Final = 16 * 1024 * 1024
"""Approximate bounds of a group of blocks that are decoded together: rows, and compressed bytes."""


class AvroFormatReader(SinglePartReader):
    """An Avro file (see `FormatReader`)."""

    def __init__(self, source: InputFile, path: str) -> None:
        """Read the whole file; records are decoded when they are requested.

        Args:
            source: The file.
            path: Path of the file, for messages.

        Raises:
            CorruptData: The file is not a complete Avro file.
        """
        self._what = f"data file {path}"
        written, self._blocks = read_blocks(source.read(), what=self._what)
        fields: Any = written.record["fields"]
        self._types = {field["name"]: field["type"] for field in fields}
        self._schema = parsed_schema(written, what=self._what)
        self._record_null = written.null
        self._plain_columns = plain_columns(written.record)

    @property
    def is_columnar(self) -> bool:
        """False: a file is stored record by record."""
        return False

    @property
    def row_counts(self) -> Sequence[int]:
        """Rows of the file."""
        return [sum(block.count for block in self._blocks)]

    @property
    def column_names(self) -> Collection[str]:
        """Names of the columns."""
        return frozenset(self._types)

    def batches(
        self,
        parts: Sequence[int],
        columns: Sequence[pa.Field],
        *,
        batch_rows: int,
        batch_bytes: int,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, some blocks at a time; `batch_bytes` has no effect."""
        del parts, batch_bytes
        for blocks in _groups(self._blocks):
            if self._plain_columns is not None and len(blocks) >= _BLOCKS_MIN:
                # Groups are decoded whole, whatever the batch size, because slices share the arrays.
                whole = self._decoded_together(blocks, self._plain_columns, columns)
                yield from (
                    whole.slice(start, batch_rows) for start in range(0, len(whole), batch_rows)
                )
            else:
                yield from self._decoded_by_record(blocks, columns, batch_rows)

    def _decoded_together(
        self,
        blocks: Sequence[AvroBlock],
        plain: Sequence[PlainColumn],
        columns: Sequence[pa.Field],
    ) -> pa.RecordBatch:
        data = [(block.count, block.data(what=self._what)) for block in blocks]
        names = [column.name for column in columns]
        try:
            found = decode_columns(data, plain, names, record_null=self._record_null)
        except IndexError as error:
            text = f"{self._what} holds records that do not fit its schema: {error}"
            raise CorruptData(text) from error
        by_name = {column.name: column for column in plain}
        arrays = [
            column_array(found[name], by_name[name], self._types[name], column.type)
            for name, column in zip(names, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _decoded_by_record(
        self, blocks: Sequence[AvroBlock], columns: Sequence[pa.Field], batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        readers = [_reader(self._types[column.name], column.type) for column in columns]
        for block in blocks:
            records = decode_block(block, self._schema, what=self._what)
            for start in range(0, len(records), batch_rows):
                some = records[start : start + batch_rows]
                arrays = [
                    pa.array(_column(some, column.name, read), column.type)
                    for column, read in zip(columns, readers, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=[c.name for c in columns])


def _groups(blocks: Sequence[AvroBlock]) -> Iterator[list[AvroBlock]]:
    """Yield the blocks that have records, in groups of bounded size."""
    group: list[AvroBlock] = []
    rows = size = 0
    for block in blocks:
        if not block.count:
            continue
        group.append(block)
        rows, size = rows + block.count, size + len(block.compressed)
        # A group ends after the block that exceeds a bound, because a block is decoded whole.
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def _column(records: Sequence[Mapping[str, Any]], name: str, read: _ReadValue) -> list[Any]:
    values = [record[name] for record in records]
    if read is None:
        return values
    return [None if value is None else read(value) for value in values]


def _reader(schema: Any, target: pa.DataType) -> _ReadValue:
    """Return the conversion of values of an Avro type to those of an Arrow type."""
    schema = not_null(schema)
    if not isinstance(schema, dict):
        return None
    logical, kind = schema.get("logicalType"), schema["type"]
    if logical == "decimal":
        return partial(_decimal, scale=schema.get("scale", 0))
    if logical is not None and logical in UNIT_OF:
        return _rescaled(PER_SECOND[UNIT_OF[logical]], PER_SECOND[target.unit])
    match kind:
        case "array" if pa.types.is_map(target):
            return _entries_reader(schema["items"], target)
        case "array":
            return _list_reader(_reader(schema["items"], target.value_type))
        case "map":
            return _map_reader(_reader(schema["values"], target.item_type))
        case "record":
            parts = {
                field["name"]: _reader(field["type"], target.field(field["name"]).type)
                for field in schema["fields"]
                if target.get_field_index(field["name"]) >= 0
            }
            return partial(_row, parts=parts)
        case str() | int() | None:
            return None
        case _:
            return _reader(kind, target)


def _decimal(value: bytes, *, scale: int) -> Decimal:
    # `scaleb` shifts the point without arithmetic on the digits.
    return _EXACT.scaleb(Decimal(int.from_bytes(value, "big", signed=True)), -scale)


def _rescaled(source: int, target: int) -> _ReadValue:
    if source == target:
        return None
    return lambda value: value * target // source


def _list_reader(read: _ReadValue) -> _ReadValue:
    return read and (lambda values: [_read(value, read) for value in values])


def _map_reader(read: _ReadValue) -> _ReadValue:
    return lambda entries: [(key, _read(value, read)) for key, value in entries.items()]


def _entries_reader(entry: Any, target: pa.MapType) -> _ReadValue:
    """Return the conversion of a map whose keys are not texts, which Avro stores as an array of records."""
    types = {field["name"]: field["type"] for field in not_null(entry)["fields"]}
    read_key = _reader(types["key"], target.key_type)
    read_value = _reader(types["value"], target.item_type)
    return lambda entries: [
        (_read(each["key"], read_key), _read(each["value"], read_value)) for each in entries
    ]


def _row(row: Mapping[str, Any], *, parts: Mapping[str, _ReadValue]) -> dict[str, Any]:
    return {name: _read(row[name], read) for name, read in parts.items()}


def _read(value: Any, read: _ReadValue) -> Any:
    return value if value is None or read is None else read(value)
