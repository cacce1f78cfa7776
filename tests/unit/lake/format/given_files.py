"""Data files and entries with every attribute set, to start from."""

from dataclasses import replace

from braid.lake.format.binary_row import EMPTY_ROW, encode_row
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.statistics import EMPTY_STATS, SimpleStats
from braid.lake.format.type_codec import parse_type

KEY = encode_row([1], [parse_type("INT")])
FILE = DataFileMeta(
    file_name="data-é-0.parquet",
    file_size=123_456_789_012,
    row_count=4_000,
    min_key=KEY,
    max_key=KEY,
    key_stats=SimpleStats(min_values=KEY, max_values=KEY, null_counts=(0,)),
    value_stats=SimpleStats(min_values=KEY, max_values=KEY, null_counts=(None, 63, 64, 4_000)),
    min_sequence_number=0,
    max_sequence_number=2**63 - 1,
    schema_id=0,
    level=5,
    extra_files=("data-é-0.parquet.index",),
    creation_time_ms=-1,
    delete_row_count=0,
    embedded_file_index=b"index",
    file_source=FileSource.COMPACT,
    value_stats_cols=("a", "b"),
)
# What a plain writer sets, and nothing more.
PLAIN_FILE = DataFileMeta(
    file_name="data-0.parquet",
    file_size=1,
    row_count=1,
    min_key=KEY,
    max_key=KEY,
    key_stats=EMPTY_STATS,
    value_stats=EMPTY_STATS,
    min_sequence_number=1,
    max_sequence_number=1,
    schema_id=0,
    level=0,
)
ENTRY = ManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=3, total_buckets=4, file=FILE)
PLAIN_ENTRY = replace(ENTRY, kind=FileKind.DELETE, total_buckets=-1, file=PLAIN_FILE)
