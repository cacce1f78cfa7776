"""Export of a table state to files: progress on stderr, the result on stdout."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa
import typer

from braid.cli.export.formats import ExportFormat
from braid.cli.export.row_files import ROW_FILES, RowFile
from braid.cli.export.target import export_target
from braid.lake import Catalog, ReadAt, Scan, parse_conditions

_REPORT_INTERVAL_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export as the command line declares it.

    Attributes:
        at: The table state.
        columns: The columns in order; None means all.
        where: Conditions as SQL text (`braid.lake.parse_conditions`); rows fulfil all of them.
        target: A file, or a folder when `rows_per_file` is given.
        format: The format of the files.
        rows_per_file: The largest number of rows of a file; None: one file has all rows.
        overwrite: Whether an existing file may be replaced.
    """

    at: ReadAt
    columns: Sequence[str] | None
    where: Sequence[str]
    target: Path
    format: ExportFormat
    rows_per_file: int | None
    overwrite: bool


def export_rows(warehouse: str, identifier: str, request: Export) -> int:
    """Write the files; return the exit status.

    Memory: that of reading (`Scan.to_batches`), and one batch or row group.

    Raises:
        LakeError: What `Table.scan` and reading the scan raise; or the target is invalid.
        OSError: The disk refuses a write.
    """
    table = Catalog(warehouse).table(identifier)
    scan = table.scan(columns=request.columns, at=request.at)
    conditions = [parse_conditions(text, scan.schema) for text in request.where]
    scan = replace(scan, where=tuple(chain.from_iterable(conditions)))
    is_folder = request.rows_per_file is not None
    with export_target(
        request.target, is_folder=is_folder, overwrite=request.overwrite
    ) as unfinished:
        progress = _Progress(identifier, scan)
        with closing(_Files(unfinished, request, scan)) as files:
            for batch in scan.to_batches():
                files.write(batch)
                progress.report(files.rows)
    of = "no snapshot" if scan.snapshot is None else f"snapshot {scan.snapshot.id}"
    count = f", {files.count} files" if is_folder else ""
    typer.echo(f"{identifier}: {files.rows} rows of {of} in {request.target}{count}")
    return 0


class _Files:
    """The files of an export, one after the other."""

    def __init__(self, unfinished: Path, request: Export, scan: Scan) -> None:
        self._unfinished = unfinished
        self._request = request
        self._scan = scan
        self._fields = [scan.schema.field(name) for name in scan.columns]
        self._room = 0  # rows that still fit into the open file
        self._file: RowFile | None = None
        self.count = 0
        self.rows = 0
        self._begin()

    def write(self, batch: pa.RecordBatch) -> None:
        for piece in self._pieces(batch):
            assert self._file is not None, "a file is begun"
            self._file.write(piece)
            self.rows += piece.num_rows

    def close(self) -> None:
        assert self._file is not None, "a file is begun"
        self._file.close()

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in pieces, each of which fits into the file that is open at that moment."""
        bound = self._request.rows_per_file
        while bound is not None and batch.num_rows > self._room:
            if self._room:
                yield batch.slice(0, self._room)
                batch = batch.slice(self._room)
            self.close()
            self._begin()
        self._room -= batch.num_rows
        yield batch

    def _begin(self) -> None:
        self.count += 1
        bound, format_ = self._request.rows_per_file, self._request.format
        path = self._unfinished
        if bound is not None:
            self._room = bound
            path = path / f"part-{self.count:05d}.{format_}"
        self._file = ROW_FILES[format_](path, self._scan.arrow_schema, self._fields)


@dataclass(slots=True)
class _Progress:
    """Prints the progress of an export every few seconds."""

    identifier: str
    scan: Scan
    _reported_s: float = field(default_factory=time.monotonic)

    def report(self, rows: int) -> None:
        now_s = time.monotonic()
        if now_s - self._reported_s < _REPORT_INTERVAL_S:
            return
        self._reported_s = now_s
        records = sum(file.row_count for split in self.scan.plan().splits for file in split.files)
        percent = min(99, 100 * self.scan.counters.rows // max(1, records))
        typer.echo(
            f"{self.identifier}: {rows} rows written, {percent} % of {records} records read",
            err=True,
        )
