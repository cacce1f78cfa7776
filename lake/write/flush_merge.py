"""Merge of overlapping flushes to one bucket in one commit, so that the commit adds each key once.

Only tables ordered by snapshot need this merge: all records of one snapshot have the same sequence number there, so
the order of two records of a key would be undefined. In all other tables the sequence numbers in the files order the
records, and reads merge them.

Source: merge-semantics 3.7: the order inside one snapshot is undefined.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader, columns_without_values
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.lsm.merge_runs import bytes_per_run, merge_runs, rows_per_run
from braid.lake.lsm.round_merge import PlainMerge
from braid.lake.lsm.sorted_run import Section, SortedRun, plan_sections
from braid.lake.merge.fold import FoldCounters, Machine
from braid.lake.merge.spec import MergeSpec
from braid.lake.write.files.level_file import DataFileSink
from braid.lake.write.files.rolling_files import RollingFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFlushes:
    """Files of several flushes after the merge.

    Attributes:
        files: Key-disjoint files in key order; given files that overlapped no other are among them.
        replaced: Given files whose rows are in new files now; the caller has to delete them.
        rows_folded: The number of rows merged into another row of their key.
    """

    files: tuple[DataFileMeta, ...]
    replaced: tuple[DataFileMeta, ...]
    rows_folded: int


def merge_flushes(
    sink: DataFileSink, files: Sequence[DataFileMeta], spec: MergeSpec, *, machine: Machine
) -> MergedFlushes:
    """Return files of level 0 with the rows of the given files, each key once.

    Memory: that of `merge_runs` for the overlapping flushes, and one row group.

    Args:
        sink: The sink of the bucket that the files are in.
        files: Files of one writer since its last commit; files of later flushes have higher
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
        # A section of one run overlaps no other file, so it has each key once already.
        if len(section.runs) == 1:
            kept.extend(section.runs[0].files)
        else:
            kept.extend(_write_merged(sink, section, spec, machine, counters))
            replaced.extend(file for run in section.runs for file in run.files)
    assert counters.rows_in >= counters.rows_out, "merging makes no rows"
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
        # All rows of a file are read with its smallest sequence number (see `DataFileReader.batches`).
        # That orders them among the flushes, because no other flush has numbers in between.
        reader = DataFileReader(sink.file_io, path, file_meta=file, schema=sink.schema)
        yield from reader.batches(
            sink.schema.field_names, batch_rows=batch_rows, batch_bytes=batch_bytes
        )
