"""Files as the source of a backfill: their rows are read as records of the stream, by the stream's declaration.

Files are read in the order of their paths. Each file is mapped by its own fields, so one source may have files
with different fields. The timestamp of a row is the modification time of its file.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa

from braid.backfill.files.avro_file import AvroFile
from braid.backfill.files.csv_file import CsvFile, CsvOptions
from braid.backfill.files.file_mapping import LeftOut, check_filled, map_files
from braid.backfill.files.json_file import JsonFile
from braid.backfill.files.opened_file import FileRows, OpenedFile
from braid.backfill.files.parquet_file import ParquetFile
from braid.backfill.files.row_positions import (
    PARTITION as POSITION,
    ROW_MAX,
    next_row,
    split_next_row,
)
from braid.backfill.files.source_files import FileFormat, SourceFiles
from braid.backfill.read_chunk import PartBound, ReadChunk, SourcePart
from braid.lake import FileStatus, InvalidRequest, LimitExceeded, Problem, TableSchema
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.record_reader import RecordReader
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.schemas import StreamSpec, TableSpec

_OPENING_BYTES: Final = 256 << 10
"""To open a file takes as long as to read so much of it."""
_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class FileSource:
    """Rows of files."""

    def __init__(
        self,
        files: SourceFiles,
        *,
        table: str,
        spec: TableSpec,
        stream: StreamSpec,
        schema: TableSchema,
        fields: Mapping[str, str],
        csv: CsvOptions,
        tell: Callable[[str], None],
        first: int = 0,
    ) -> None:
        """Prepare to read; the first file is opened, to find what cannot work.

        Args:
            files: The files.
            table: `<database>.<table>`.
            spec: The table as declared.
            stream: The stream as registered.
            schema: The table's schema.
            fields: By column, the path of the field that fills it.
            csv: How CSV files are written.
            tell: Takes a notice for people: of each condition that does not apply, once for each reason, when the
                first file of it is opened.
            first: Number of the first file: those of a part are numbered like those of the whole source.

        Raises:
            InvalidRequest: The first file cannot be read, or cannot fill the stream's columns.
        """
        self._files = files
        self._first = first
        self._table = table
        self._spec = spec
        self._stream = stream
        self._schema = schema
        self._fields = dict(fields)
        self._csv = csv
        sizes = np.array([0, *(file.size for file in files.files)], dtype=np.int64)
        self._bytes_before = np.cumsum(sizes).tolist()
        self._opened_now: OpenedFile | None = None
        self._tell = tell
        self._told: set[LeftOut] = set()
        with closing(self._open(files.files[0])) as opened:
            self._reader(opened, files.files[0].path)

    @property
    def name(self) -> str:
        """Number of the files, and the name of the file, folder or pattern: the status of the stream shows it."""
        count, name = len(self._files.files), self._files.address.rpartition("/")[2]
        return f"{count} {self._files.format.value} {'file' if count == 1 else 'files'} of {name}"

    @property
    def digest(self) -> str:
        """Digest of the files, and of what decides how they are read."""
        csv = self._csv.values() if self._files.format is FileFormat.CSV else []
        return self._files.digest(sorted(self._fields.items()), csv)

    @property
    def start(self) -> Mapping[int, int]:
        """The first row of the first file."""
        return {POSITION: next_row(self._first, 0)}

    @property
    def end(self) -> Mapping[int, int]:
        """The first row of a file after the last one."""
        return {POSITION: next_row(self._end, 0)}

    def chunks(self, offsets: Mapping[int, int]) -> Iterator[ReadChunk]:
        """Yield the rows from a position on (see `Source`)."""
        first, skipped = split_next_row(offsets[POSITION])
        for number in range(first, self._end):
            with closing(self._open(self._file(number))) as opened:
                yield from self._chunks_of(opened, number, skipped if number == first else 0)

    def parts(self, offsets: Mapping[int, int], bound: PartBound) -> Iterator[SourcePart]:
        """Yield parts of whole files (see `Source`)."""
        first, skipped = split_next_row(offsets[POSITION])
        while first < self._end:
            end, size = first, 0
            while end < self._end and size < bound.bytes:
                size += max(self._file(end).size, _OPENING_BYTES)
                end += 1
            yield SourcePart(
                open=partial(
                    FileSource,
                    replace(
                        self._files,
                        files=self._files.files[first - self._first : end - self._first],
                    ),
                    table=self._table,
                    spec=self._spec,
                    stream=self._stream,
                    schema=self._schema,
                    fields=self._fields,
                    csv=self._csv,
                    first=first,
                ),
                start={POSITION: next_row(first, skipped)},
                end={POSITION: next_row(end, 0)},
                done=self._done(end - 1, 1.0),
            )
            first, skipped = end, 0

    def described(self, records: pa.RecordBatch, row: int) -> dict[str, Any]:
        """Return a row with its place (see `Source`)."""
        assert self._opened_now is not None, "rows come from an open file"
        return {
            "file": self._file(records.column(OFFSET)[row].as_py()).path,
            "row": records.column(PARTITION)[row].as_py(),
            **self._opened_now.shown(records.column(VALUE)[row].as_py()),
        }

    def close(self) -> None:
        """Do nothing: each file is closed when it has been read."""

    @property
    def _end(self) -> int:
        """The number after that of the last file."""
        return self._first + len(self._files.files)

    def _file(self, number: int) -> FileStatus:
        return self._files.files[number - self._first]

    def _open(self, file: FileStatus) -> OpenedFile:
        match self._files.format:
            case FileFormat.PARQUET:
                return ParquetFile(self._files.file_io, file)
            case FileFormat.CSV:
                bound = self._stream.max_message_bytes
                return CsvFile(self._files.file_io, file, self._csv, record_bytes_max=bound)
            case FileFormat.JSON:
                return JsonFile(
                    self._files.file_io, file, record_bytes_max=self._stream.max_message_bytes
                )
            case FileFormat.AVRO:
                return AvroFile(self._files.file_io, file)
            case _:
                assert_never(self._files.format)

    def _reader(self, opened: OpenedFile, path: str) -> tuple[StreamPlan, RecordReader]:
        mapping = map_files(self._stream, fields=self._fields, has_field=opened.has_field)
        plan = plan_stream(
            table=self._table, spec=self._spec, stream=mapping.spec, schema=self._schema
        )
        check_filled(plan, opened.has_field, path=path)
        misfits = [
            Problem(
                field=column.name,
                value=column.address,
                message=f"{path}: the field is {reason}",
                hint="convert the file, or choose another field with --columns",
            )
            for column in plan.fields
            if (reason := opened.misfit(column)) is not None
        ]
        if misfits:
            message = "the files cannot fill the stream's columns"
            raise InvalidRequest(message, problems=misfits)
        for left_out in mapping.left_out:
            if left_out not in self._told:
                self._told.add(left_out)
                self._tell(
                    f"`{left_out.name}` does not apply to the rows of {path} and of other files for which the same is true: {left_out.why}"
                )
        return plan, RecordReader(plan, self._schema, reader_of=opened.reader_of)

    def _chunks_of(self, opened: OpenedFile, number: int, skipped: int) -> Iterator[ReadChunk]:
        file = self._file(number)
        plan, reader = self._reader(opened, file.path)
        self._opened_now = opened
        row = skipped
        for rows in opened.rows(skipped):
            assert rows.first == row, "rows come in their order"
            row += rows.count
            if row > ROW_MAX:
                message = f"{file.path} has more than {ROW_MAX} rows, expected fewer in one file"
                raise LimitExceeded(message)
            yield ReadChunk(
                plan=plan,
                found=reader.read(self._records(rows, number, file)),
                records=rows.count,
                end={POSITION: next_row(number, row)},
                done=self._done(number, rows.done),
            )
        # An empty file, too, is behind the position then.
        yield ReadChunk(
            plan=plan,
            found=None,
            records=0,
            end={POSITION: next_row(number + 1, 0)},
            done=self._done(number, 1.0),
        )

    def _done(self, number: int, of_file: float) -> float:
        total = self._bytes_before[-1]
        before = self._bytes_before[number - self._first]
        size = self._bytes_before[number - self._first + 1] - before
        return 1.0 if not total else (before + size * min(1.0, of_file)) / total

    def _records(self, rows: FileRows, number: int, file: FileStatus) -> pa.RecordBatch:
        """Return rows as records; their payloads are what the file's reader takes."""
        count = len(rows.payloads)
        at = pa.scalar(file.modified_ms * 1000, pa.int64())
        return pa.RecordBatch.from_pydict(
            {
                KEY: pa.nulls(count, pa.binary()),
                VALUE: rows.payloads,
                HEADERS: pa.nulls(count, _HEADERS_TYPE),
                PARTITION: pa.array(rows.numbers.astype(np.int32)),
                OFFSET: pa.array(np.full(count, number, np.int64)),
                TIMESTAMP: pa.repeat(at, count).cast(pa.timestamp("us", tz="UTC")),
            }
        )
