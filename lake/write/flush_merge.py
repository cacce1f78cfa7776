"""The flushes of one commit, merged where they overlap, so that a snapshot has each key once.

Only tables ordered by snapshot need it: there all records of a snapshot have one sequence number,
and which of two records of a key is the newer would be anybody's guess. Everywhere else the numbers
in the files tell, and reads merge.

Source: merge-semantics 3.7: the order inside one snapshot is undefined.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lake.files.data_file_path import live_file_path
from lake.files.data_files import DataFileReader, columns_without_values
from lake.format.data_file import DataFileMeta, FileSource
from lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from lake.lsm.round_merge import PlainMerge
from lake.lsm.sorted_run import Section, SortedRun, plan_sections
from lake.merge.fold import FoldCounters, Machine
from lake.merge.spec import MergeSpec
from lake.write.level_file import DataFileSink
from lake.write.rolling_files import RollingFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFlushes:
    """What became of the files of several flushes.

    Attributes:
        files: Key-disjoint, in key order.
        replaced: Files that are of no use any more.
        rows_folded: Rows merged into another row of their key.
    """

    files: tuple[DataFileMeta, ...]
    replaced: tuple[DataFileMeta, ...]
    rows_folded: int


def merge_flushes(
    sink: DataFileSink, files: Sequence[DataFileMeta], spec: MergeSpec, *, machine: Machine
) -> MergedFlushes:
    """Return files of level 0 with the rows of these, each key once.

    Memory: what merging holds of the overlapping flushes (`lake.lsm.merge_runs`), and a row group
    (`lake.write.rolling_files`).

    Args:
        sink: Of the bucket that the files are in.
        files: That one writer made since its last commit; those of later flushes have higher
            sequence numbers.
        spec: How the table's records merge.
        machine: Which execution folds.

    Raises:
        SchemaMismatch: Records that the table's merge refuses.
        StorageUnavailable: Storage refused.
    """
    kept: list[DataFileMeta] = []
    replaced: list[DataFileMeta] = []
    counters = FoldCounters()
    for section in plan_sections(files, sink.schema.key_fields):
        if len(section.runs) == 1:
            kept.extend(section.runs[0].files)
        else:
            kept.extend(_write_merged(sink, section, spec, machine, counters))
            replaced.extend(file for run in section.runs for file in run.files)
    return MergedFlushes(
        files=tuple(kept),
        replaced=tuple(replaced),
        rows_folded=counters.rows_in - counters.rows_out,
    )


def _write_merged(
    sink: DataFileSink,
    section: Section,
    spec: MergeSpec,
    machine: Machine,
    counters: FoldCounters,
) -> tuple[DataFileMeta, ...]:
    rows_held, bytes_held = rows_per_run(len(section.runs)), bytes_per_run(len(section.runs))
    runs = [
        _batches(sink, run, batch_rows=rows_held, batch_bytes=bytes_held) for run in section.runs
    ]
    merged = merge_runs(
        runs,
        PlainMerge(spec=spec, machine=machine, counters=counters),
        batch_rows=rows_held,
        batch_bytes=bytes_held,
    )
    files = [file for run in section.runs for file in run.files]
    with RollingFiles(
        sink,
        level=0,
        file_source=FileSource.APPEND,
        empty_columns=columns_without_values(files, sink.schema),
    ) as rolling:
        for table in merged:
            rolling.add(table)
        return rolling.finish()


def _batches(
    sink: DataFileSink, run: SortedRun, *, batch_rows: int, batch_bytes: int
) -> Iterator[pa.RecordBatch]:
    for file in run.files:
        path = live_file_path(sink.paths, sink.schema, sink.partition, sink.bucket, file)
        # Its smallest number stands for all of a file's rows here (see `DataFileReader.batches`),
        # which is enough: no other flush has numbers in between.
        reader = DataFileReader(sink.file_io, path, file_meta=file, schema=sink.schema)
        yield from reader.batches(
            sink.schema.field_names, batch_rows=batch_rows, batch_bytes=batch_bytes
        )
