"""The options of a table: typed, checked, each declared once.

Options that this engine does not know have no attribute: they stay in the schema untouched and belong to other
engines. Options of single columns (`fields.<column>.<option>`) have none either, because
`braid.lake.merge.declared_options` reads them. The same applies to a few options that only a schema change or a
single rule reads. Keys, values and defaults are the format's own; keys that begin with `braid.` are Braid's.

The file is long because it is a table with one entry per option. Parsing, the set of known keys and the
reference page are derived from it (`braid.lake.options.option_declaration`).

Source: merge-semantics 9 and table-format 1, 4, 6, 9 to 13, 19.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.options.file_index_options import BloomColumn, parse_file_index_options
from braid.lake.options.option_declaration import (
    Following,
    Option,
    declared,
    declared_options,
    option,
)
from braid.lake.options.option_parsers import (
    BUCKET_BOUND,
    DIRECTORY,
    DURATION,
    FLAG,
    INT_MAX,
    IS_DESCENDING,
    LONG_MAX,
    LOWER_CASE,
    NAME_PREFIX,
    RATIO,
    SIZE,
    TEXT,
    UNBOUNDED_INTEGER,
    bucket_count,
    choice,
    names,
    per_level,
    whole_number,
)

DYNAMIC_BUCKET: Final = -1
POSTPONE_BUCKET: Final = -2
DELETE_RETENTION: Final = "braid.delete-retention"
DELETE_TIME_FIELDS: Final = "braid.delete-retention.time-fields"
KEY_BYTES_MAX: Final = "braid.key.max-bytes"
DEFAULTS_BY_GROUP: Final = "braid.defaults-by-group"
NULL_DELETES: Final = "braid.null-deletes"
NULL_DELETES_KEPT: Final = "braid.null-deletes.kept-fields"
NULL_DELETES_MARKS: Final = "braid.null-deletes.mark-fields"
BUCKETS_MAX: Final = INT_MAX
"""Buckets are numbered by an int32."""


class MergeEngine(StrEnum):
    """How the records of one key merge into a row."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


class ChangelogProducer(StrEnum):
    """The operation that writes changelog files."""

    NONE = "none"
    INPUT = "input"
    FULL_COMPACTION = "full-compaction"
    LOOKUP = "lookup"


class LookupCompaction(StrEnum):
    """When a table that merges by lookup compacts its level 0."""

    RADICAL = "radical"
    GENTLE = "gentle"


class BucketFunction(StrEnum):
    """The function from a bucket key to a bucket."""

    DEFAULT = "default"
    MOD = "mod"
    HIVE = "hive"


class SequenceNumberInit(StrEnum):
    """Where a writer finds the highest sequence number in use."""

    SCAN = "scan"
    SNAPSHOT = "snapshot"


class ManifestCompression(StrEnum):
    """Codecs of manifests that every reader of the format knows."""

    ZSTANDARD = "zstandard"
    DEFLATE = "deflate"
    NULL = "null"


class IcebergStorage(StrEnum):
    """Where the Iceberg metadata of a table are; those of the last two catalogs are refused at declaration."""

    DISABLED = "disabled"
    TABLE_LOCATION = "table-location"
    HADOOP_CATALOG = "hadoop-catalog"
    HIVE_CATALOG = "hive-catalog"
    REST_CATALOG = "rest-catalog"


class IcebergLocation(StrEnum):
    """The directory of Iceberg metadata, where it is not the one that the storage implies."""

    TABLE_LOCATION = "table-location"
    CATALOG_LOCATION = "catalog-location"


class IcebergCompression(StrEnum):
    """Codecs of Iceberg's manifests."""

    SNAPPY = "snappy"
    ZSTANDARD = "zstandard"
    DEFLATE = "deflate"
    NULL = "null"


# Options that the defaults of other options follow.
_COMPACTION_TRIGGER: Final = Option(
    key="num-sorted-run.compaction-trigger",
    parser=whole_number(low=1),
    default=5,
    doc="Number of sorted runs of a bucket from which a compaction is due",
)
_SNAPSHOTS_MIN: Final = Option(
    key="snapshot.num-retained.min",
    parser=whole_number(low=1),
    default=10,
    doc="Number of newest snapshots that never expire",
)
_SNAPSHOTS_MAX: Final = Option(
    key="snapshot.num-retained.max",
    parser=whole_number(low=1),
    default=INT_MAX,
    default_text="no bound",
    doc="Maximum number of snapshots; older ones expire whatever their age",
)
_SNAPSHOTS_TIME: Final = Option(
    key="snapshot.time-retained",
    parser=DURATION,
    default=3_600_000,
    doc="Age below which snapshots do not expire, unless their number exceeds the maximum",
)
_CODEC_ALIASES: Final = {"zstd": "zstandard", "none": "null"}
_ICEBERG_CODEC_ALIASES: Final = {**_CODEC_ALIASES, "gzip": "deflate"}
_UNUSED: Final = "For other engines (checked, but not used by Braid): "
_REFUSED: Final = "Not supported (tables that use it are refused): "


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The options of one table, as `parse` returns them.

    Sizes are bytes, times milliseconds. None stands for an option that is absent and has no default.
    """

    bucket: int = option(
        "bucket",
        bucket_count(lowest=POSTPONE_BUCKET),
        default=DYNAMIC_BUCKET,
        default_text="-1",
        doc="Number of buckets of each partition; with -1 a bucket is added when the others are full",
    )
    bucket_key: tuple[str, ...] = option(
        "bucket-key",
        names(),
        default=(),
        default_text="the primary key without partition columns",
        doc="Columns whose hash determines the bucket of a row",
    )
    bucket_function_type: BucketFunction = option(
        "bucket-function.type",
        choice(BucketFunction),
        default=BucketFunction.DEFAULT,
        doc="Function that maps the bucket key to a bucket; tables with another value than "
        "`default` are refused",
    )
    dynamic_bucket_target_row_num: int = option(
        "dynamic-bucket.target-row-num",
        whole_number(low=1, high=LONG_MAX),
        default=2_000_000,
        doc="Number of keys that a dynamic bucket gets before the next bucket is added",
    )
    dynamic_bucket_max_buckets: int = option(
        "dynamic-bucket.max-buckets",
        BUCKET_BOUND,
        default=-1,
        default_text="-1, no bound",
        doc="Maximum number of dynamic buckets of a partition",
    )

    merge_engine: MergeEngine = option(
        "merge-engine",
        choice(MergeEngine),
        default=MergeEngine.DEDUPLICATE,
        doc="How the records of one key merge into a row: [merge engines](merge-engines/README.md)",
    )
    sequence_field: tuple[str, ...] = option(
        "sequence.field",
        names(),
        default=(),
        doc="Columns that order the records of one key; the order of arrival decides between "
        "equal values",
    )
    sequence_field_descending: bool = option(
        "sequence.field.sort-order",
        IS_DESCENDING,
        default=False,
        doc="Whether the record with the largest (ascending) or the smallest value of "
        "`sequence.field` is the newest",
    )
    sequence_snapshot_ordering: bool = option(
        "sequence.snapshot-ordering",
        FLAG,
        default=False,
        doc="Records of a later snapshot are newer, whatever their sequence numbers; requires "
        "`write-only`",
    )
    sequence_number_init_mode: SequenceNumberInit = option(
        "write.sequence-number-init-mode",
        choice(SequenceNumberInit),
        default=SequenceNumberInit.SCAN,
        doc=f"{_UNUSED}where a writer finds the highest sequence number in use",
    )
    rowkind_field: str | None = option(
        "rowkind.field",
        TEXT,
        default=None,
        doc="Text column that holds the kind of each row: +I, -U, +U or -D",
    )
    ignore_delete: bool = option(
        "ignore-delete",
        FLAG,
        default=False,
        fallbacks=(
            "first-row.ignore-delete",
            "deduplicate.ignore-delete",
            "partial-update.ignore-delete",
        ),
        doc="Drop records of kind -D and -U when they are written",
    )
    ignore_update_before: bool = option(
        "ignore-update-before",
        FLAG,
        default=False,
        doc="Drop records of kind -U when they are written",
    )
    partial_update_remove_record_on_delete: bool = option(
        "partial-update.remove-record-on-delete",
        FLAG,
        default=False,
        doc="A -D removes the row, in partial-update tables without sequence groups",
    )
    partial_update_remove_record_on_sequence_group: tuple[str, ...] = option(
        "partial-update.remove-record-on-sequence-group",
        names(strip=False),
        default=(),
        doc="Ordering columns of sequence groups; a -D removes the row if it is not older than the "
        "row in such a group",
    )
    aggregation_remove_record_on_delete: bool = option(
        "aggregation.remove-record-on-delete",
        FLAG,
        default=False,
        doc="A -D removes the row, in aggregation tables",
    )
    default_aggregate_function: str | None = option(
        "fields.default-aggregate-function",
        TEXT,
        default=None,
        doc="[Aggregate function](aggregate-functions/README.md) of columns that have none of their own",
    )

    file_format: str = option(
        "file.format",
        LOWER_CASE,
        default="parquet",
        doc="Format of data files: parquet, orc or avro",
    )
    file_compression: str = option(
        "file.compression", LOWER_CASE, default="zstd", doc="Compression of data files"
    )
    zstd_level: int = option(
        "file.compression.zstd-level",
        whole_number(low=1, high=22),
        default=1,
        doc="Level of zstd compression",
    )
    file_format_per_level: tuple[tuple[int, str], ...] = option(
        "file.format.per.level",
        per_level("0:avro,3:parquet"),
        default=(),
        doc="Formats of the data files of single levels; other levels have `file.format`",
    )
    file_compression_per_level: tuple[tuple[int, str], ...] = option(
        "file.compression.per.level",
        per_level("0:lz4,1:zstd"),
        default=(),
        doc="Compressions of the data files of single levels; other levels have `file.compression`",
    )
    parquet_compression: str | None = option(
        "parquet.compression",
        LOWER_CASE,
        default=None,
        doc="Compression of Parquet files, instead of `file.compression`",
    )
    orc_compress: str | None = option(
        "orc.compress",
        LOWER_CASE,
        default=None,
        doc="Compression of ORC files, instead of `file.compression`",
    )
    avro_codec: str | None = option(
        "avro.codec",
        LOWER_CASE,
        default=None,
        doc="Compression of Avro files, instead of `file.compression`",
    )
    target_file_size_bytes: int = option(
        "target-file-size",
        SIZE,
        default=128 << 20,
        doc="Size from which a writer begins the next data file",
    )
    thin_mode: bool = option(
        "data-file.thin-mode",
        FLAG,
        default=False,
        doc="Data files have no `_KEY_` columns, which are copies of key columns",
    )
    data_file_prefix: str = option(
        "data-file.prefix", NAME_PREFIX, default="data-", doc="Start of the names of data files"
    )
    changelog_file_prefix: str = option(
        "changelog-file.prefix",
        NAME_PREFIX,
        default="changelog-",
        doc="Start of the names of changelog files",
    )
    data_file_path_directory: str | None = option(
        "data-file.path-directory",
        DIRECTORY,
        default=None,
        default_text="the table's own",
        doc="Directory below that of the table that contains partitions and buckets",
    )
    data_file_external_paths: str | None = option(
        "data-file.external-paths",
        TEXT,
        default=None,
        doc=f"{_REFUSED}data files outside of the table's directory",
    )
    row_tracking_enabled: bool = option(
        "row-tracking.enabled", FLAG, default=False, doc=f"{_REFUSED}ids of rows"
    )
    data_evolution_enabled: bool = option(
        "data-evolution.enabled",
        FLAG,
        default=False,
        doc=f"{_REFUSED}files that have only some columns of their rows",
    )

    file_index_blooms: tuple[BloomColumn, ...] = ()  # file-index.bloom-filter.*
    file_index_in_manifest_threshold_bytes: int = option(
        "file-index.in-manifest-threshold",
        SIZE,
        default=500,
        doc="Maximum size of a file index that is stored in the manifest; a larger index is a file "
        "beside its data file",
    )
    file_index_read_enabled: bool = option(
        "file-index.read.enabled", FLAG, default=True, doc="Whether reads use file indexes"
    )

    partition_default_name: str = option(
        "partition.default-name",
        TEXT,
        default="__DEFAULT_PARTITION__",
        doc="Name of the directory for partition values that are null or blank",
    )
    partition_legacy_name: bool = option(
        "partition.legacy-name",
        FLAG,
        default=True,
        doc="Whether names of partition directories have dates and times in the form of older "
        "versions of Paimon (numbers, ISO 8601), and not in that of casts to text",
    )

    manifest_compression: ManifestCompression = option(
        "manifest.compression",
        choice(ManifestCompression, aliases=_CODEC_ALIASES),
        default=ManifestCompression.ZSTANDARD,
        doc="Compression of manifests and manifest lists",
    )
    manifest_target_file_size_bytes: int = option(
        "manifest.target-file-size",
        SIZE,
        default=8 << 20,
        doc="Total size of the newest manifests from which a compaction sorts their entries by partition and "
        "bucket, and cuts them into parts of a quarter of this size; an append does so from four times this size",
    )
    manifest_merge_min_count: int = option(
        "manifest.merge-min-count",
        whole_number(low=1),
        default=30,
        doc="Number of the newest small manifests that an append merges into one, once there are a few "
        "more than this number, up to a thousand entries; compactions keep eight of them",
    )
    manifest_full_compaction_threshold_bytes: int = option(
        "manifest.full-compaction-threshold-size",
        SIZE,
        default=16 << 20,
        doc="Total size of the sorted manifests that contain deletes from which compactions merge sorted "
        "manifests, a range of buckets with each commit, if it is a quarter of all manifests, too; where more than "
        "three sorted manifests overlap they do so whatever their size",
    )

    iceberg_storage: IcebergStorage = option(
        "metadata.iceberg.storage",
        choice(IcebergStorage),
        default=IcebergStorage.DISABLED,
        doc="Where to keep metadata by which Iceberg readers read the compacted rows: in the table's "
        "directory (table-location), or below `iceberg` in the warehouse (hadoop-catalog); "
        "hive-catalog and rest-catalog are refused",
    )
    iceberg_storage_location: IcebergLocation | None = option(
        "metadata.iceberg.storage-location",
        choice(IcebergLocation),
        default=None,
        default_text="the place that `metadata.iceberg.storage` names",
        doc="Directory of the Iceberg metadata: that of the table, or below `iceberg` in the "
        "warehouse (catalog-location)",
    )
    iceberg_format_version: int = option(
        "metadata.iceberg.format-version",
        whole_number(low=2, high=3),
        default=2,
        doc="Version of Iceberg's format; tables with 3 are refused",
    )
    iceberg_compaction_min_files: int = option(
        "metadata.iceberg.compaction.min.file-num",
        whole_number(low=1),
        default=10,
        doc="Number of small Iceberg manifests from which they are merged, if together they have the "
        "size `manifest.target-file-size`",
    )
    iceberg_compaction_max_files: int = option(
        "metadata.iceberg.compaction.max.file-num",
        whole_number(low=1),
        default=50,
        doc="Number of small Iceberg manifests from which they are merged whatever their size",
    )
    iceberg_delete_after_commit: bool = option(
        "metadata.iceberg.delete-after-commit.enabled",
        FLAG,
        default=True,
        doc="Whether older versions of the Iceberg metadata file are deleted when one is written",
    )
    iceberg_previous_versions_max: int = option(
        "metadata.iceberg.previous-versions-max",
        whole_number(low=0),
        default=0,
        doc="Number of older versions of the Iceberg metadata file that are kept",
    )
    iceberg_manifest_compression: IcebergCompression = option(
        "metadata.iceberg.manifest-compression",
        choice(IcebergCompression, aliases=_ICEBERG_CODEC_ALIASES),
        default=IcebergCompression.SNAPPY,
        doc="Compression of Iceberg manifests and manifest lists",
    )
    iceberg_manifest_legacy_version: bool = option(
        "metadata.iceberg.manifest-legacy-version",
        FLAG,
        default=False,
        doc="Name the counts in Iceberg manifest lists as Iceberg 1.4 and AWS Athena do",
    )

    source_split_target_size_bytes: int = option(
        "source.split.target-size",
        SIZE,
        default=128 << 20,
        doc="Target size of the files in one split of a scan",
    )
    source_split_open_file_cost_bytes: int = option(
        "source.split.open-file-cost",
        SIZE,
        default=4 << 20,
        doc="Minimum size that is assumed for each file when files are packed into splits",
    )

    write_only: bool = option(
        "write-only",
        FLAG,
        default=False,
        fallbacks=("write.compaction-skip",),
        doc="Writers do not compact (Braid's writers never do)",
    )
    write_buffer_size_bytes: int = option(
        "write-buffer-size",
        SIZE,
        default=256 << 20,
        doc=f"{_UNUSED}rows that a writer keeps in memory",
    )
    commit_max_retries: int = option(
        "commit.max-retries",
        whole_number(low=0),
        default=10,
        doc=f"{_UNUSED}attempts of a commit after the first",
    )
    commit_min_retry_wait_ms: int = option(
        "commit.min-retry-wait",
        DURATION,
        default=10,
        doc=f"{_UNUSED}first wait between attempts of a commit",
    )
    commit_max_retry_wait_ms: int = option(
        "commit.max-retry-wait",
        DURATION,
        default=10_000,
        doc=f"{_UNUSED}longest wait between attempts of a commit",
    )
    commit_timeout_ms: int | None = option(
        "commit.timeout",
        DURATION,
        default=None,
        doc=f"{_UNUSED}time after which a commit is given up",
    )
    snapshot_num_retained_min: int = declared(_SNAPSHOTS_MIN)
    snapshot_num_retained_max: int = declared(_SNAPSHOTS_MAX)
    snapshot_time_retained_ms: int = declared(_SNAPSHOTS_TIME)
    snapshot_expire_limit: int = option(
        "snapshot.expire.limit",
        whole_number(low=1),
        default=50,
        doc="Maximum number of snapshots that one run of expiry removes",
    )
    changelog_num_retained_min: int = option(
        "changelog.num-retained.min",
        whole_number(low=1),
        default=Following(
            base=_SNAPSHOTS_MIN, derive=lambda value: value, text=f"`{_SNAPSHOTS_MIN.key}`"
        ),
        doc="Number of newest changelogs that outlive their snapshots and never expire",
    )
    changelog_num_retained_max: int = option(
        "changelog.num-retained.max",
        whole_number(low=1),
        default=Following(
            base=_SNAPSHOTS_MAX, derive=lambda value: value, text=f"`{_SNAPSHOTS_MAX.key}`"
        ),
        doc="Maximum number of changelogs; older ones expire whatever their age",
    )
    changelog_time_retained_ms: int = option(
        "changelog.time-retained",
        DURATION,
        default=Following(
            base=_SNAPSHOTS_TIME, derive=lambda value: value, text=f"`{_SNAPSHOTS_TIME.key}`"
        ),
        doc="Age below which changelogs do not expire, unless their number exceeds the maximum",
    )
    consumer_expiration_time_ms: int | None = option(
        "consumer.expiration-time",
        DURATION,
        default=None,
        doc="Time since the last write to a consumer after which it no longer keeps snapshots",
    )
    consumer_changelog_only: bool = option(
        "consumer.changelog-only",
        FLAG,
        default=False,
        doc="Consumers prevent only changelogs from expiring, not snapshots; leases still keep "
        "snapshots",
    )
    tag_default_time_retained_ms: int | None = option(
        "tag.default-time-retained",
        DURATION,
        default=None,
        doc="Time to live of tags that are created without one",
    )

    num_sorted_run_compaction_trigger: int = declared(_COMPACTION_TRIGGER)
    num_sorted_run_stop_trigger: int = option(
        "num-sorted-run.stop-trigger",
        whole_number(),
        default=Following(
            base=_COMPACTION_TRIGGER,
            derive=lambda trigger: trigger + 3,
            text=f"`{_COMPACTION_TRIGGER.key}` + 3",
            is_minimum=True,
        ),
        doc="Number of sorted runs of a bucket from which writers wait; at least the compaction "
        "trigger",
    )
    num_levels: int = option(
        "num-levels",
        whole_number(low=2),
        default=Following(
            base=_COMPACTION_TRIGGER,
            derive=lambda trigger: trigger + 1,
            text=f"`{_COMPACTION_TRIGGER.key}` + 1",
        ),
        doc="Number of levels of a bucket, level 0 included",
    )
    compaction_max_size_amplification_percent: int = option(
        "compaction.max-size-amplification-percent",
        whole_number(low=0),
        default=200,
        doc="Size of all runs except the oldest, in percent of the size of the oldest, above which "
        "a bucket is compacted fully",
    )
    compaction_size_ratio: int = option(
        "compaction.size-ratio",
        whole_number(low=0),
        default=1,
        doc="Percent by which a run may be larger than all newer runs together and still be "
        "compacted with them",
    )
    compaction_small_file_ratio: float = option(
        "compaction.small-file-ratio",
        RATIO,
        default=0.7,
        doc="Fraction of `target-file-size` below which a file is small",
    )
    compaction_force_rewrite_all_files: bool = option(
        "compaction.force-rewrite-all-files",
        FLAG,
        default=False,
        doc="A full compaction also rewrites files that need no merging",
    )
    compaction_force_up_level_0: bool = option(
        "compaction.force-up-level-0",
        FLAG,
        default=False,
        doc="A compaction includes all files of level 0",
    )
    compaction_optimization_interval_ms: int | None = option(
        "compaction.optimization-interval",
        DURATION,
        default=None,
        doc="Time after a full compaction until the next one is due",
    )
    compaction_total_size_threshold_bytes: int | None = option(
        "compaction.total-size-threshold",
        SIZE,
        default=None,
        doc="Size of a bucket below which all of its compactions are full",
    )
    compaction_incremental_size_threshold_bytes: int | None = option(
        "compaction.incremental-size-threshold",
        SIZE,
        default=None,
        doc="Total size of the files below the highest level; from this size on a full compaction "
        "is due",
    )
    compaction_offpeak_start_hour: int = option(
        "compaction.offpeak.start.hour",
        whole_number(low=-1, high=23),
        default=-1,
        doc="Hour of local time at which off-peak hours begin; -1 for none",
    )
    compaction_offpeak_end_hour: int = option(
        "compaction.offpeak.end.hour",
        whole_number(low=-1, high=23),
        default=-1,
        doc="Hour of local time at which off-peak hours end; -1 for none",
    )
    compaction_offpeak_ratio: int = option(
        "compaction.offpeak-ratio",
        whole_number(low=0),
        default=0,
        doc="Percent by which `compaction.size-ratio` is larger in off-peak hours",
    )
    lookup_compact: LookupCompaction = option(
        "lookup-compact",
        choice(LookupCompaction),
        default=LookupCompaction.RADICAL,
        doc="Whether a table that merges by lookup (see `force-lookup`) compacts level 0 at every "
        "compaction (radical) or waits (gentle)",
    )
    lookup_compact_max_interval: int = option(
        "lookup-compact.max-interval",
        whole_number(),
        default=Following(
            base=_COMPACTION_TRIGGER,
            derive=lambda trigger: 2 * trigger,
            text=f"twice `{_COMPACTION_TRIGGER.key}`",
            is_minimum=True,
        ),
        doc="Maximum number of compactions that a gentle table waits before level 0 is due; at "
        "least the compaction trigger",
    )
    lookup_cache_max_disk_bytes: int = option(
        "lookup.cache-max-disk-size",
        SIZE,
        default=LONG_MAX,
        default_text="no bound",
        doc="Maximum disk space for the copies of data files that lookups of the table keep",
    )
    lookup_cache_max_memory_bytes: int = option(
        "lookup.cache-max-memory-size",
        SIZE,
        default=256 << 20,
        doc="Maximum memory for the copies of data files that lookups of the table keep",
    )
    lookup_cache_file_retention_ms: int = option(
        "lookup.cache-file-retention",
        DURATION,
        default=3_600_000,
        doc="Time for which a copy of a data file is kept after its last use",
    )
    force_lookup: bool = option(
        "force-lookup",
        FLAG,
        default=False,
        doc="New records are merged with the compacted record of their key (by lookup) even in "
        "tables that do not need it otherwise",
    )
    commit_force_compact: bool = option(
        "commit.force-compact", FLAG, default=False, doc=f"{_UNUSED}compact before each commit"
    )
    full_compaction_delta_commits: int | None = option(
        "full-compaction.delta-commits",
        UNBOUNDED_INTEGER,
        default=None,
        default_text="1 with `changelog-producer` = `full-compaction`, else none",
        doc="Number of commits to a bucket after which a full compaction is due",
    )
    changelog_producer: ChangelogProducer = option(
        "changelog-producer",
        choice(ChangelogProducer),
        default=ChangelogProducer.NONE,
        doc="The operations that write changelog files: commits (input), full compactions, or "
        "compactions of new records (lookup)",
    )
    changelog_producer_row_deduplicate: bool = option(
        "changelog-producer.row-deduplicate",
        FLAG,
        default=False,
        doc="Changelogs leave out updates that change no value",
    )
    changelog_producer_row_deduplicate_ignore_fields: tuple[str, ...] = option(
        "changelog-producer.row-deduplicate-ignore-fields",
        names(strip=False),
        default=(),
        doc="Columns whose values do not count as a change for `row-deduplicate`",
    )
    changelog_file_format: str | None = option(
        "changelog-file.format",
        LOWER_CASE,
        default=None,
        default_text="that of data files",
        doc="Format of changelog files",
    )
    changelog_file_compression: str | None = option(
        "changelog-file.compression",
        LOWER_CASE,
        default=None,
        default_text="that of data files",
        doc="Compression of changelog files",
    )

    record_level_expire_time_ms: int | None = option(
        "record-level.expire-time",
        DURATION,
        default=None,
        default_text="rows do not expire",
        doc="Time to live of a row, in whole seconds from the time in its column "
        "`record-level.time-field`; reads leave expired rows out, compactions remove them",
    )
    record_level_time_field: str | None = option(
        "record-level.time-field",
        TEXT,
        default=None,
        doc="Column with the time from which a row's time to live counts: INT or BIGINT (seconds, "
        "or milliseconds from 10^12 on), or a TIMESTAMP",
    )
    delete_retention_ms: int | None = option(
        DELETE_RETENTION,
        DURATION,
        default=None,
        doc="Time for which compactions keep deletes on the highest level; an option of Braid only",
    )
    delete_time_fields: tuple[str, ...] = option(
        DELETE_TIME_FIELDS,
        names(),
        default=(),
        doc="TIMESTAMP columns with the time of the deleting record; the latest time counts; an "
        "option of Braid only",
    )
    key_bytes_max: int = option(
        KEY_BYTES_MAX,
        SIZE,
        default=64 << 10,
        doc="Maximum total size of the texts and binaries of a key, checked when rows are written; "
        "an option of Braid only",
    )
    defaults_by_group: bool = option(
        DEFAULTS_BY_GROUP,
        FLAG,
        default=False,
        doc="In sequence groups, default values are filled in only for records that take part in "
        "the group; an option of Braid only",
    )
    null_deletes: tuple[str, ...] = option(
        NULL_DELETES,
        names(strip=False),
        default=(),
        doc="Ordering columns of the sequence groups whose retracts are written without the "
        "values that they delete: as upserts of nulls, unless they remove the row; an option of "
        "Braid only",
    )
    null_deletes_kept_fields: tuple[str, ...] = option(
        NULL_DELETES_KEPT,
        names(strip=False),
        default=(),
        doc="Columns that keep their values in such a record; an option of Braid only",
    )
    null_deletes_mark_fields: tuple[str, ...] = option(
        NULL_DELETES_MARKS,
        names(strip=False),
        default=(),
        doc="Columns that get the text `clear` in the upsert of nulls of their group; an option "
        "of Braid only",
    )
    deletion_vectors_enabled: bool = option(
        "deletion-vectors.enabled",
        FLAG,
        default=False,
        doc="Compactions mark the replaced rows of older files, so that readers need not merge",
    )
    deletion_vectors_merge_on_read: bool = option(
        "deletion-vectors.merge-on-read",
        FLAG,
        default=False,
        doc="Batch reads merge level 0 too, in tables with deletion vectors",
    )
    deletion_vectors_bitmap64: bool = option(
        "deletion-vectors.bitmap64",
        FLAG,
        default=False,
        doc="Deletion vectors are written as 64-bit bitmaps",
    )

    @property
    def needs_lookup(self) -> bool:
        """Whether new records are merged with the already compacted record of their key.

        Then each record on level 1 or above is a whole merged row, so of such records of a key only the
        one on the lowest level counts (merge-semantics 1.7, 6.3).
        """
        return (
            self.changelog_producer is ChangelogProducer.LOOKUP
            or self.deletion_vectors_enabled
            or self.merge_engine is MergeEngine.FIRST_ROW
            or self.force_lookup
        )

    @property
    def hides_level_0(self) -> bool:
        """Whether batch readers skip files of level 0 (table-format 13.5)."""
        is_hidden = self.deletion_vectors_enabled and not self.deletion_vectors_merge_on_read
        return is_hidden or self.merge_engine is MergeEngine.FIRST_ROW

    def data_file_format(self, level: int) -> str:
        """Return the format of data files that are written for a level."""
        return dict(self.file_format_per_level).get(level, self.file_format)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "TableOptions":
        """Return the typed view of the options in a schema.

        Raises:
            InvalidRequest: One or more values cannot be read; `problems` names each option,
                its value, and what is valid.
        """
        problems: list[Problem] = []
        # A table gives few options; the others have the defaults of the class.
        given = {name for key in _DECIDED.keys() & options.keys() for name in _DECIDED[key]}
        values: dict[str, Any] = {
            attribute: declaration.read(options, problems)
            for attribute, declaration in OPTIONS.items()
            if attribute in given
        }
        if problems:
            text = "the table's options cannot be read"
            raise InvalidRequest(text, problems=problems)
        # Each of these has a key per column, so no single option declares them.
        values["file_index_blooms"] = parse_file_index_options(options).blooms
        return cls(**values)


OPTIONS: Final[Mapping[str, Option[Any]]] = declared_options(TableOptions)
"""The options that `TableOptions` declares, by attribute."""


def _decided() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, declaration in OPTIONS.items():
        for key in declaration.deciding_keys:
            found.setdefault(key, []).append(name)
    return found


_DECIDED: Final[Mapping[str, Sequence[str]]] = _decided()
"""The attributes that depend on a key of the options."""
