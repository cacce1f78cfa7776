"""Writers of exported files, one class per format; each takes batches of one schema.

| format    | suffix     | values                                                                |
|-----------|------------|-----------------------------------------------------------------------|
| `parquet` | `.parquet` | as the table's Arrow types, zstd                                      |
| `arrow`   | `.arrow`   | the same; the Arrow IPC file format, whose batches can be memory-mapped |
| `csv`     | `.csv`     | a null is empty, an empty text is `""`; bytes are base64, nested values and VARIANT are JSON |
| `jsonl`   | `.jsonl`   | one JSON object per line, values as over HTTP                         |

A Parquet writer holds one row group in memory, the others hold one batch. CSV refuses dates and times outside the
years 1 to 9999.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from braid.cli.export.formats import ExportFormat
from braid.formats.json_values import json_value, json_writer
from braid.lake import (
    DataField,
    TypeRoot,
    UnsupportedFeature,
    json_of_variants,
    python_columns,
    without_hidden_nulls,
)

_ROW_GROUP_ROWS: Final = 1 << 20
_ROW_GROUP_BYTES: Final = 64 << 20
_BYTES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_DATES: Final = (TypeRoot.DATE, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_SECONDS_OF_DAY: Final = 86_400
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_PLAIN_JSON: Final = (
    TypeRoot.BOOLEAN,
    TypeRoot.TINYINT,
    TypeRoot.SMALLINT,
    TypeRoot.INT,
    TypeRoot.BIGINT,
    TypeRoot.CHAR,
    TypeRoot.VARCHAR,
)
"""Types whose Python values need no conversion for JSON."""


class RowFile(Protocol):
    """A file that rows are added to."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        ...

    def close(self) -> None:
        """Write buffered rows and the footer, and close the file."""
        ...


class ParquetRows:
    """A Parquet file."""

    def __init__(self, path: Path, schema: pa.Schema, _: Sequence[DataField]) -> None:
        """Begin the file."""
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows to the row group."""
        columns = [without_hidden_nulls(column) for column in batch.columns]
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROW_GROUP_ROWS or self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write the last row group and the footer."""
        if self._waiting:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        group = pa.Table.from_batches(self._waiting, schema=self._schema)
        self._writer.write_table(group, row_group_size=max(1, self._rows))
        self._waiting, self._rows, self._bytes = [], 0, 0


class ArrowRows:
    """An Arrow IPC file."""

    def __init__(self, path: Path, schema: pa.Schema, _: Sequence[DataField]) -> None:
        """Begin the file."""
        self._file = path.open("wb")
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows as a batch."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
        self._file.close()


class CsvRows:
    """A CSV file with a line of names."""

    def __init__(self, path: Path, schema: pa.Schema, fields: Sequence[DataField]) -> None:
        """Write the names."""
        self._fields = fields
        self._schema = pa.schema([_csv_field(schema.field(field.name), field) for field in fields])
        self._file = path.open("wb")
        self._writer = pacsv.CSVWriter(self._file, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a line for each row."""
        columns = [_csv_column(batch.column(field.name), field) for field in self._fields]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        """End the file."""
        self._writer.close()
        self._file.close()


class JsonRows:
    """A file of JSON objects, one a line."""

    def __init__(self, path: Path, _: pa.Schema, fields: Sequence[DataField]) -> None:
        """Begin the file."""
        self._fields = fields
        self._file: BinaryIO = path.open("wb")

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a line for each row."""
        names = [field.name for field in self._fields]
        values = python_columns(batch)
        columns = [_json_column(values[field.name], field) for field in self._fields]
        option = orjson.OPT_APPEND_NEWLINE
        self._file.writelines(
            orjson.dumps(dict(zip(names, row, strict=True)), option=option)
            for row in zip(*columns, strict=True)
        )

    def close(self) -> None:
        """End the file."""
        self._file.close()


ROW_FILES: Final[
    Mapping[ExportFormat, Callable[[Path, pa.Schema, Sequence[DataField]], RowFile]]
] = {
    ExportFormat.PARQUET: ParquetRows,
    ExportFormat.CSV: CsvRows,
    ExportFormat.JSONL: JsonRows,
    ExportFormat.ARROW: ArrowRows,
}
"""The writer of each format; called with path, schema of the batches and the table's fields in order."""


def _csv_field(field: pa.Field, declared: DataField) -> pa.Field:
    is_text = not declared.type.is_plain or declared.type.root in _BYTES
    return pa.field(field.name, pa.string() if is_text else field.type)


def _csv_column(column: pa.Array, declared: DataField) -> pa.Array:
    root = declared.type.root
    if root in _BYTES:
        texts = [
            None if value is None else base64.b64encode(value).decode()
            for value in column.to_pylist()
        ]
        return pa.array(texts, pa.string())
    if root is TypeRoot.VARIANT:
        return json_of_variants(column)
    if declared.type.is_nested:
        batch = pa.RecordBatch.from_arrays([column], names=[declared.name])
        values = _json_column(python_columns(batch)[declared.name], declared)
        texts = [None if value is None else orjson.dumps(value).decode() for value in values]
        return pa.array(texts, pa.string())
    if root in _DATES:
        _check_years(column, declared)
    return column


def _check_years(column: pa.Array, declared: DataField) -> None:
    """Refuse dates and times outside the years 1 to 9999.

    ISO 8601 text has four digits for the year, and Arrow writes wrong text for such values.
    """
    is_date = pa.types.is_date(column.type)
    per_day = 1 if is_date else _SECONDS_OF_DAY * _PER_SECOND[column.type.unit]
    bounds = pc.min_max(column.cast(pa.int32() if is_date else pa.int64())).as_py()
    first, last = bounds["min"], bounds["max"]
    if first is None or (first >= _FIRST_DAY * per_day and last < (_LAST_DAY + 1) * per_day):
        return
    message = (
        f"column `{declared.name}` of type {declared.type} has a value outside the years 1 to 9999\n"
        "hint: export to parquet or arrow"
    )
    raise UnsupportedFeature(message)


def _json_column(values: Sequence[object], declared: DataField) -> Sequence[object]:
    if declared.type.root in _PLAIN_JSON:
        return values
    if declared.type.root is TypeRoot.VARIANT:
        write = json_writer([declared])
        return [write({declared.name: value})[declared.name] for value in values]
    return [json_value(value, declared.type) for value in values]
