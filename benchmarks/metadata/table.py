"""Tables whose metadata is real and whose data files do not exist.

Every snapshot is made by the committer, so manifests are those that a table of this history has: it is loaded, then
micro-batches add files to level 0 and compactions replace some of them. Entries have statistics of all columns, as files
of this engine have. Half of the columns have random bounds, which cannot be compressed, and the others have the same
bounds in every file, as codes and flags have; in one of three columns the count of nulls differs from file to file.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.compaction.history import UnsyncedDisk
from braid.lake import Catalog, Table
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.avro.binary import encode_null_counts
from braid.lake.format.binary_row import EMPTY_ROW, encode_rows
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.data_types import DataField
from braid.lake.format.null_counts import EncodedCounts
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.statistics import SimpleStats

FILES_PER_BUCKET = 8
ROWS_PER_FILE = 25_000
LOADS = 40
ROUNDS = 60
# Shares of the buckets that a micro-batch writes to, and that are compacted after it.
WRITTEN, COMPACTED = 0.02, 0.01
_TYPES = ("BIGINT", "DOUBLE", "STRING", "TIMESTAMP(3)")
_STATISTICS = 512
_TOP_LEVEL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a table.

    Attributes:
        files: Live files after the load; a few more in the end.
        columns: Columns besides the key.
    """

    files: int
    columns: int

    @property
    def buckets(self) -> int:
        """Buckets of the table."""
        return self.files // FILES_PER_BUCKET


def write_table(folder: Path, size: Size) -> Path:
    """Make a table and return its path."""
    types = [_TYPES[number % len(_TYPES)] for number in range(size.columns)]
    file_io = LocalFileIO(disk=UnsyncedDisk())
    table = Catalog(str(folder), file_io=file_io).create_table(
        f"db.f{size.files}_c{size.columns}",
        columns=[("id", "BIGINT"), *((f"c{n}", name) for n, name in enumerate(types))],
        primary_key=["id"],
        options={"bucket": str(size.buckets)},
    )
    history = _History(table, size)
    history.load()
    for _ in range(ROUNDS):
        history.write()
        history.compact()
    return Path(table.path)


def missing_keys() -> Iterator[dict[str, int]]:
    """Yield keys that are outside of the range of every file, so that a lookup ends after its plan."""
    number = 1_000_000_000
    while True:
        yield {"id": number}
        number += 1


def new_file(schema: TableSchema, number: int, statistics: SimpleStats) -> DataFileMeta:
    """Return a file of level 0 with the keys from 0 to 999."""
    return _file(schema, number, statistics, low=0, high=999, level=0)


def random_statistics(fields: Sequence[DataField], count: int, seed: int) -> list[SimpleStats]:
    """Return statistics of some files: bounds of every column, and counts of nulls, none in two of three columns."""
    numbers = np.random.default_rng(seed)
    low, high = (
        encode_rows(
            [
                _values(field, count if number % 8 < 4 else 1, numbers).take(
                    pa.array(range(count) if number % 8 < 4 else [0] * count)
                )
                for number, field in enumerate(fields)
            ],
            fields,
        )
        for _ in range(2)
    )
    nulls = numbers.integers(0, ROWS_PER_FILE, (count, len(fields)))
    nulls[numbers.random(nulls.shape) < 2 / 3] = 0
    return [
        SimpleStats(min_values=one, max_values=other, null_counts=_encoded(counts))
        for one, other, counts in zip(low, high, nulls.tolist(), strict=True)
    ]


class _History:
    """The commits of one table."""

    def __init__(self, table: Table, size: Size) -> None:
        self._table = table
        self._size = size
        self._random = random.Random(size.files)  # noqa: S311 - reproducible, not secret
        self._statistics = random_statistics(table.schema.fields, _STATISTICS, seed=size.columns)
        self._committer = table.committer()
        self._number = 0
        self._top: dict[int, list[DataFileMeta]] = {}
        self._fresh: dict[int, list[DataFileMeta]] = {}

    def load(self) -> None:
        """Add the files of the highest level, a part of the buckets with each commit."""
        buckets = self._random.sample(range(self._size.buckets), self._size.buckets)
        for part in range(LOADS):
            chosen = buckets[part::LOADS]
            for bucket in chosen:
                self._top[bucket] = [
                    self._new(index, level=_TOP_LEVEL) for index in range(FILES_PER_BUCKET)
                ]
            self._commit(
                [self._message(bucket, new_files=tuple(self._top[bucket])) for bucket in chosen],
                CommitKind.APPEND,
            )

    def write(self) -> None:
        """Commit a micro-batch: a file of level 0 in some of the buckets."""
        messages = []
        for bucket in self._some(WRITTEN):
            file = self._new(self._random.randrange(FILES_PER_BUCKET), level=0)
            self._fresh.setdefault(bucket, []).append(file)
            messages.append(self._message(bucket, new_files=(file,)))
        self._commit(messages, CommitKind.APPEND)

    def compact(self) -> None:
        """Commit compactions of some buckets: their level 0 and a file of the highest level become one."""
        messages = []
        for bucket in self._some(COMPACTED):
            index = self._random.randrange(FILES_PER_BUCKET)
            before = (self._top[bucket][index], *self._fresh.pop(bucket, ()))
            after = self._new(index, level=_TOP_LEVEL)
            self._top[bucket][index] = after
            messages.append(self._message(bucket, compact_before=before, compact_after=(after,)))
        self._commit(messages, CommitKind.COMPACT)

    def _some(self, share: float) -> list[int]:
        count = max(1, round(share * self._size.buckets))
        return self._random.sample(range(self._size.buckets), count)

    def _new(self, index: int, *, level: int) -> DataFileMeta:
        self._number += 1
        low = index * ROWS_PER_FILE
        statistics = self._random.choice(self._statistics)
        return _file(
            self._table.schema,
            self._number,
            statistics,
            low=low,
            high=low + ROWS_PER_FILE - 1,
            level=level,
        )

    def _message(
        self,
        bucket: int,
        *,
        new_files: tuple[DataFileMeta, ...] = (),
        compact_before: tuple[DataFileMeta, ...] = (),
        compact_after: tuple[DataFileMeta, ...] = (),
    ) -> CommitMessage:
        return CommitMessage(
            partition=EMPTY_ROW,
            bucket=bucket,
            total_buckets=self._size.buckets,
            schema_id=self._table.schema.id,
            new_files=new_files,
            compact_before=compact_before,
            compact_after=compact_after,
        )

    def _commit(self, messages: Sequence[CommitMessage], kind: CommitKind) -> None:
        self._committer.commit(messages, commit_user=f"u{self._number}", kind=kind)


def _file(
    schema: TableSchema, number: int, statistics: SimpleStats, *, low: int, high: int, level: int
) -> DataFileMeta:
    keys = encode_rows([pa.array([low, high], pa.int64())], schema.key_fields)
    file = DataFileMeta(
        file_name=f"data-{number:032x}-0.parquet",
        file_size=100_000_000 if level else 200_000,
        row_count=ROWS_PER_FILE,
        min_key=keys[0],
        max_key=keys[1],
        key_stats=SimpleStats(min_values=keys[0], max_values=keys[1], null_counts=(0,)),
        value_stats=statistics,
        min_sequence_number=number * ROWS_PER_FILE,
        max_sequence_number=(number + 1) * ROWS_PER_FILE - 1,
        schema_id=schema.id,
        level=level,
        creation_time_ms=1_700_000_000_000 + number,
        delete_row_count=0,
        file_source=FileSource.APPEND,
    )
    return replace(file, file_source=FileSource.COMPACT) if level else file


def _encoded(counts: Sequence[int]) -> EncodedCounts:
    # As they are read: encoding them again for each of the files would take most of the time.
    out: list[bytes] = []
    encode_null_counts(out, counts)
    return EncodedCounts(b"".join(out), len(counts))


def _values(field: DataField, count: int, numbers: np.random.Generator) -> pa.Array:
    if field.type.root.name == "VARCHAR":
        texts = numbers.integers(97, 123, (count, 16), dtype=np.uint8)
        return pa.array([bytes(row).decode() for row in texts])
    if field.type.root.name == "DOUBLE":
        return pa.array(numbers.random(count) * 1e6)
    limit = 1 << 40
    return pa.array(numbers.integers(0, limit, count)).cast(to_arrow_type(field.type))
