"""Exports the rows of a table's state: what was read on stderr, what came of it on stdout."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa
import typer

from braid.export.formats import ExportFormat
from braid.export.row_files import ROW_FILES, RowFile
from braid.export.target import export_target
from lake import Catalog, ReadAt, Scan, parse_conditions

_TELL_EVERY_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What is to be exported.

    Attributes:
        at: The state.
        columns: In order; None means all.
        where: Conditions as people type them; all of them hold.
        target: File, or folder where `rows_per_file` is given.
        format: Of the files.
        rows_per_file: Rows of a file at most; None: one file has all.
        overwrite: Whether a file that is there already may be replaced.
    """

    at: ReadAt
    columns: Sequence[str] | None
    where: Sequence[str]
    target: Path
    format: ExportFormat
    rows_per_file: int | None
    overwrite: bool


def export_rows(warehouse: str, identifier: str, wanted: Export) -> int:
    """Write the files; return the status to exit with.

    Memory: as reading (`Scan.to_batches`), and a batch or a row group.

    Raises:
        LakeError: As `Table.scan` does, and reading it; the target cannot be.
        OSError: The disk refuses.
    """
    table = Catalog(warehouse).table(identifier)
    scan = table.scan(columns=wanted.columns, at=wanted.at)
    conditions = [parse_conditions(text, scan.schema) for text in wanted.where]
    scan = replace(scan, where=tuple(chain.from_iterable(conditions)))
    is_folder = wanted.rows_per_file is not None
    with export_target(wanted.target, is_folder=is_folder, overwrite=wanted.overwrite) as part:
        progress = _Progress(identifier, scan)
        with closing(_Files(part, wanted, scan)) as files:
            for batch in scan.to_batches():
                files.write(batch)
                progress.tell(files.rows)
    of = "no snapshot" if scan.snapshot is None else f"snapshot {scan.snapshot.id}"
    count = f", {files.count} files" if is_folder else ""
    typer.echo(f"{identifier}: {files.rows} rows of {of} in {wanted.target}{count}")
    return 0


class _Files:
    """The files of an export, one after the other."""

    def __init__(self, part: Path, wanted: Export, scan: Scan) -> None:
        self._part = part
        self._wanted = wanted
        self._scan = scan
        self._fields = [scan.schema.field(name) for name in scan.columns]
        self._left = 0
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
        """Yield a batch in parts that fit the file that is open then."""
        bound = self._wanted.rows_per_file
        while bound is not None and batch.num_rows > self._left:
            if self._left:
                yield batch.slice(0, self._left)
                batch = batch.slice(self._left)
            self.close()
            self._begin()
        self._left -= batch.num_rows
        yield batch

    def _begin(self) -> None:
        self.count += 1
        bound, format_ = self._wanted.rows_per_file, self._wanted.format
        path = self._part
        if bound is not None:
            self._left = bound
            path = path / f"part-{self.count:05d}.{format_}"
        self._file = ROW_FILES[format_](path, self._scan.arrow_schema, self._fields)


@dataclass(slots=True)
class _Progress:
    """Tells how far an export is, every few seconds."""

    identifier: str
    scan: Scan
    _told_s: float = field(default_factory=time.monotonic)

    def tell(self, rows: int) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s < _TELL_EVERY_S:
            return
        self._told_s = now_s
        records = sum(file.row_count for split in self.scan.plan().splits for file in split.files)
        percent = min(99, 100 * self.scan.counters.rows // max(1, records))
        typer.echo(
            f"{self.identifier}: {rows} rows written, {percent} % of {records} records read",
            err=True,
        )
