"""A typed, checked view of the options of a table.

Only what this engine acts on has an attribute; other options stay in the schema untouched and
belong to other engines. Keys, values and defaults are the format's own.

Source: merge-semantics 9 and table-format 1, 4, 6, 9 to 13, 19.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from lake.errors import InvalidRequest, Problem
from lake.file_index_options import BloomColumn, parse_file_index_options

DYNAMIC_BUCKET: Final = -1
POSTPONE_BUCKET: Final = -2
DELETE_RETENTION: Final = "braid.delete-retention"
DELETE_TIME_FIELDS: Final = "braid.delete-retention.time-fields"
KEY_BYTES_MAX: Final = "braid.key.max-bytes"
DEFAULTS_BY_GROUP: Final = "braid.defaults-by-group"
NULL_DELETES: Final = "braid.null-deletes"
NULL_DELETES_KEPT: Final = "braid.null-deletes.kept-fields"
NULL_DELETES_MARKS: Final = "braid.null-deletes.mark-fields"
_INT_MAX: Final = 2_147_483_647
BUCKETS_MAX: Final = _INT_MAX
"""Buckets are numbered by an int32."""
_LONG_MAX: Final = (1 << 63) - 1
# What file systems take for one name; a prefix leaves room for a UUID, a number and a suffix.
_NAME_BYTES_MAX: Final = 255
_NAME_PREFIX_BYTES_MAX: Final = 100


class MergeEngine(StrEnum):
    """What several records of one key become."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


class ChangelogProducer(StrEnum):
    """Who writes a changelog, and when."""

    NONE = "none"
    INPUT = "input"
    FULL_COMPACTION = "full-compaction"
    LOOKUP = "lookup"


class LookupCompaction(StrEnum):
    """How soon a table that merges by lookup compacts its level 0."""

    RADICAL = "radical"
    GENTLE = "gentle"


class BucketFunction(StrEnum):
    """How a bucket key becomes a bucket."""

    DEFAULT = "default"
    MOD = "mod"
    HIVE = "hive"


class SequenceNumberInit(StrEnum):
    """Where a writer learns the highest sequence number in use."""

    SCAN = "scan"
    SNAPSHOT = "snapshot"


class ManifestCompression(StrEnum):
    """Codecs of manifests that every reader of the format knows."""

    ZSTANDARD = "zstandard"
    DEFLATE = "deflate"
    NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The options of one table; `parse` is the way to get them.

    Sizes are bytes, times milliseconds. Each attribute is the option of the same name with `.`
    and `-` in place of `_`, the unit dropped, unless its comment says otherwise.
    """

    bucket: int = DYNAMIC_BUCKET
    bucket_key: tuple[str, ...] = ()
    bucket_function_type: BucketFunction = BucketFunction.DEFAULT
    dynamic_bucket_target_row_num: int = 2_000_000
    dynamic_bucket_max_buckets: int = -1  # of a partition; -1 is no bound

    merge_engine: MergeEngine = MergeEngine.DEDUPLICATE
    sequence_field: tuple[str, ...] = ()
    sequence_field_descending: bool = False  # sequence.field.sort-order
    sequence_snapshot_ordering: bool = False
    sequence_number_init_mode: SequenceNumberInit = SequenceNumberInit.SCAN
    rowkind_field: str | None = None
    ignore_delete: bool = False
    ignore_update_before: bool = False
    partial_update_remove_record_on_delete: bool = False
    partial_update_remove_record_on_sequence_group: tuple[str, ...] = ()
    aggregation_remove_record_on_delete: bool = False
    default_aggregate_function: str | None = None  # fields.default-aggregate-function

    file_format: str = "parquet"
    file_compression: str = "zstd"
    zstd_level: int = 1  # file.compression.zstd-level
    # By level, ascending; levels that are absent take the table's own.
    file_format_per_level: tuple[tuple[int, str], ...] = ()
    file_compression_per_level: tuple[tuple[int, str], ...] = ()
    # Of one format's files, whatever else is declared.
    parquet_compression: str | None = None
    orc_compress: str | None = None
    avro_codec: str | None = None
    target_file_size_bytes: int = 128 << 20
    thin_mode: bool = False  # data-file.thin-mode
    data_file_prefix: str = "data-"
    changelog_file_prefix: str = "changelog-"
    data_file_path_directory: str | None = None
    data_file_external_paths: str | None = None
    row_tracking_enabled: bool = False
    data_evolution_enabled: bool = False

    file_index_blooms: tuple[BloomColumn, ...] = ()  # file-index.bloom-filter.*
    file_index_in_manifest_threshold_bytes: int = 500
    file_index_read_enabled: bool = True

    partition_default_name: str = "__DEFAULT_PARTITION__"
    partition_legacy_name: bool = True

    manifest_compression: ManifestCompression = ManifestCompression.ZSTANDARD
    manifest_target_file_size_bytes: int = 8 << 20
    manifest_merge_min_count: int = 30
    # manifest.full-compaction-threshold-size
    manifest_full_compaction_threshold_bytes: int = 16 << 20

    source_split_target_size_bytes: int = 128 << 20
    source_split_open_file_cost_bytes: int = 4 << 20

    write_only: bool = False
    write_buffer_size_bytes: int = 256 << 20
    commit_max_retries: int = 10
    commit_min_retry_wait_ms: int = 10
    commit_max_retry_wait_ms: int = 10_000
    commit_timeout_ms: int | None = None
    snapshot_num_retained_min: int = 10
    snapshot_num_retained_max: int = _INT_MAX
    snapshot_time_retained_ms: int = 3_600_000
    snapshot_expire_limit: int = 50
    # Of changelogs that outlive their snapshots; those of snapshots unless set.
    changelog_num_retained_min: int = 10
    changelog_num_retained_max: int = _INT_MAX
    changelog_time_retained_ms: int = 3_600_000
    consumer_expiration_time_ms: int | None = None
    consumer_changelog_only: bool = False  # consumers hold changelogs, not snapshots
    tag_default_time_retained_ms: int | None = None

    num_sorted_run_compaction_trigger: int = 5
    num_sorted_run_stop_trigger: int = 8  # the trigger + 3 unless set
    num_levels: int = 6  # the trigger + 1 unless set
    compaction_max_size_amplification_percent: int = 200
    compaction_size_ratio: int = 1
    compaction_small_file_ratio: float = 0.7
    compaction_force_rewrite_all_files: bool = False
    compaction_force_up_level_0: bool = False
    compaction_optimization_interval_ms: int | None = None
    compaction_total_size_threshold_bytes: int | None = None
    compaction_incremental_size_threshold_bytes: int | None = None
    compaction_offpeak_start_hour: int = -1  # of local time; -1 for no such hours
    compaction_offpeak_end_hour: int = -1
    compaction_offpeak_ratio: int = 0
    lookup_compact: LookupCompaction = LookupCompaction.RADICAL
    lookup_compact_max_interval: int = 10  # twice the trigger unless set, at least the trigger
    lookup_cache_max_disk_bytes: int = _LONG_MAX  # lookup.cache-max-disk-size
    lookup_cache_max_memory_bytes: int = 256 << 20  # lookup.cache-max-memory-size
    lookup_cache_file_retention_ms: int = 3_600_000
    force_lookup: bool = False
    commit_force_compact: bool = False
    full_compaction_delta_commits: int | None = None
    changelog_producer: ChangelogProducer = ChangelogProducer.NONE
    changelog_producer_row_deduplicate: bool = False
    changelog_producer_row_deduplicate_ignore_fields: tuple[str, ...] = ()
    changelog_file_format: str | None = None  # that of data files unless set
    changelog_file_compression: str | None = None
    # Ours: how long retracts stay on the highest level, and the columns that say when they came.
    delete_retention_ms: int | None = None  # braid.delete-retention
    delete_time_fields: tuple[str, ...] = ()  # braid.delete-retention.time-fields
    key_bytes_max: int = 64 << 10  # braid.key.max-bytes; ours: of texts and bytes, when written
    # Ours: in sequence groups, default values are for records that take part in the group.
    defaults_by_group: bool = False  # braid.defaults-by-group
    # Ours: ordering columns of the groups whose retracts are written without values, the columns
    # that keep theirs, and those that say that a group was cleared.
    null_deletes: tuple[str, ...] = ()  # braid.null-deletes
    null_deletes_kept_fields: tuple[str, ...] = ()  # braid.null-deletes.kept-fields
    null_deletes_mark_fields: tuple[str, ...] = ()  # braid.null-deletes.mark-fields
    deletion_vectors_enabled: bool = False
    deletion_vectors_merge_on_read: bool = False
    deletion_vectors_bitmap64: bool = False

    @property
    def needs_lookup(self) -> bool:
        """Return whether records are merged with the one that is compacted already.

        Then each record of a level from 1 on is a whole merged row, so of those only the one on
        the smallest level counts (merge-semantics 1.7, 6.3).
        """
        return (
            self.changelog_producer is ChangelogProducer.LOOKUP
            or self.deletion_vectors_enabled
            or self.merge_engine is MergeEngine.FIRST_ROW
            or self.force_lookup
        )

    @property
    def hides_level_0(self) -> bool:
        """Return whether batch readers pass files of level 0 over (table-format 13.5)."""
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
        reader = _OptionReader(options)
        trigger = reader.integer("num-sorted-run.compaction-trigger", 5, low=1)
        retained_min = reader.integer("snapshot.num-retained.min", 10, low=1)
        retained_max = reader.integer("snapshot.num-retained.max", _INT_MAX, low=1)
        retained_ms = reader.duration("snapshot.time-retained", 3_600_000)
        parsed = cls(
            bucket=reader.bucket(),
            bucket_key=reader.names("bucket-key"),
            bucket_function_type=reader.choice("bucket-function.type", BucketFunction.DEFAULT),
            dynamic_bucket_target_row_num=reader.integer(
                "dynamic-bucket.target-row-num", 2_000_000, low=1, high=_LONG_MAX
            ),
            dynamic_bucket_max_buckets=reader.bucket_bound("dynamic-bucket.max-buckets"),
            merge_engine=reader.choice("merge-engine", MergeEngine.DEDUPLICATE),
            sequence_field=reader.names("sequence.field"),
            sequence_field_descending=reader.descending("sequence.field.sort-order"),
            sequence_snapshot_ordering=reader.flag("sequence.snapshot-ordering"),
            sequence_number_init_mode=reader.choice(
                "write.sequence-number-init-mode", SequenceNumberInit.SCAN
            ),
            rowkind_field=reader.optional_text("rowkind.field"),
            ignore_delete=reader.flag(
                "ignore-delete",
                fallbacks=(
                    "first-row.ignore-delete",
                    "deduplicate.ignore-delete",
                    "partial-update.ignore-delete",
                ),
            ),
            ignore_update_before=reader.flag("ignore-update-before"),
            partial_update_remove_record_on_delete=reader.flag(
                "partial-update.remove-record-on-delete"
            ),
            partial_update_remove_record_on_sequence_group=reader.names(
                "partial-update.remove-record-on-sequence-group", strip=False
            ),
            aggregation_remove_record_on_delete=reader.flag("aggregation.remove-record-on-delete"),
            default_aggregate_function=reader.optional_text("fields.default-aggregate-function"),
            file_format=reader.text("file.format", "parquet").lower(),
            file_compression=reader.text("file.compression", "zstd").lower(),
            zstd_level=reader.integer("file.compression.zstd-level", 1, low=1, high=22),
            file_format_per_level=reader.per_level("file.format.per.level", "0:avro,3:parquet"),
            file_compression_per_level=reader.per_level(
                "file.compression.per.level", "0:lz4,1:zstd"
            ),
            parquet_compression=reader.optional_name("parquet.compression"),
            orc_compress=reader.optional_name("orc.compress"),
            avro_codec=reader.optional_name("avro.codec"),
            target_file_size_bytes=reader.size("target-file-size", 128 << 20),
            thin_mode=reader.flag("data-file.thin-mode"),
            data_file_prefix=reader.name_prefix("data-file.prefix", "data-"),
            changelog_file_prefix=reader.name_prefix("changelog-file.prefix", "changelog-"),
            data_file_path_directory=reader.directory("data-file.path-directory"),
            data_file_external_paths=reader.optional_text("data-file.external-paths"),
            row_tracking_enabled=reader.flag("row-tracking.enabled"),
            data_evolution_enabled=reader.flag("data-evolution.enabled"),
            file_index_blooms=parse_file_index_options(options).blooms,
            file_index_in_manifest_threshold_bytes=reader.size(
                "file-index.in-manifest-threshold", 500
            ),
            file_index_read_enabled=reader.flag("file-index.read.enabled", default=True),
            partition_default_name=reader.text("partition.default-name", "__DEFAULT_PARTITION__"),
            partition_legacy_name=reader.flag("partition.legacy-name", default=True),
            manifest_compression=reader.choice(
                "manifest.compression", ManifestCompression.ZSTANDARD, aliases=_CODEC_ALIASES
            ),
            manifest_target_file_size_bytes=reader.size("manifest.target-file-size", 8 << 20),
            manifest_merge_min_count=reader.integer("manifest.merge-min-count", 30, low=1),
            manifest_full_compaction_threshold_bytes=reader.size(
                "manifest.full-compaction-threshold-size", 16 << 20
            ),
            source_split_target_size_bytes=reader.size("source.split.target-size", 128 << 20),
            source_split_open_file_cost_bytes=reader.size("source.split.open-file-cost", 4 << 20),
            write_only=reader.flag("write-only", fallbacks=("write.compaction-skip",)),
            write_buffer_size_bytes=reader.size("write-buffer-size", 256 << 20),
            commit_max_retries=reader.integer("commit.max-retries", 10, low=0),
            commit_min_retry_wait_ms=reader.duration("commit.min-retry-wait", 10),
            commit_max_retry_wait_ms=reader.duration("commit.max-retry-wait", 10_000),
            commit_timeout_ms=reader.optional_duration("commit.timeout"),
            snapshot_num_retained_min=retained_min,
            snapshot_num_retained_max=retained_max,
            snapshot_time_retained_ms=retained_ms,
            snapshot_expire_limit=reader.integer("snapshot.expire.limit", 50, low=1),
            changelog_num_retained_min=reader.integer(
                "changelog.num-retained.min", retained_min, low=1
            ),
            changelog_num_retained_max=reader.integer(
                "changelog.num-retained.max", retained_max, low=1
            ),
            changelog_time_retained_ms=reader.duration("changelog.time-retained", retained_ms),
            consumer_expiration_time_ms=reader.optional_duration("consumer.expiration-time"),
            consumer_changelog_only=reader.flag("consumer.changelog-only"),
            tag_default_time_retained_ms=reader.optional_duration("tag.default-time-retained"),
            num_sorted_run_compaction_trigger=trigger,
            num_sorted_run_stop_trigger=max(
                trigger, reader.integer("num-sorted-run.stop-trigger", trigger + 3)
            ),
            num_levels=reader.integer("num-levels", trigger + 1, low=2),
            compaction_max_size_amplification_percent=reader.integer(
                "compaction.max-size-amplification-percent", 200, low=0
            ),
            compaction_size_ratio=reader.integer("compaction.size-ratio", 1, low=0),
            compaction_small_file_ratio=reader.ratio("compaction.small-file-ratio", 0.7),
            compaction_force_rewrite_all_files=reader.flag("compaction.force-rewrite-all-files"),
            compaction_force_up_level_0=reader.flag("compaction.force-up-level-0"),
            compaction_optimization_interval_ms=reader.optional_duration(
                "compaction.optimization-interval"
            ),
            compaction_total_size_threshold_bytes=reader.optional_size(
                "compaction.total-size-threshold"
            ),
            compaction_incremental_size_threshold_bytes=reader.optional_size(
                "compaction.incremental-size-threshold"
            ),
            compaction_offpeak_start_hour=reader.integer(
                "compaction.offpeak.start.hour", -1, low=-1, high=23
            ),
            compaction_offpeak_end_hour=reader.integer(
                "compaction.offpeak.end.hour", -1, low=-1, high=23
            ),
            compaction_offpeak_ratio=reader.integer("compaction.offpeak-ratio", 0, low=0),
            lookup_compact=reader.choice("lookup-compact", LookupCompaction.RADICAL),
            lookup_compact_max_interval=max(
                trigger, reader.integer("lookup-compact.max-interval", 2 * trigger)
            ),
            lookup_cache_max_disk_bytes=reader.size("lookup.cache-max-disk-size", _LONG_MAX),
            lookup_cache_max_memory_bytes=reader.size("lookup.cache-max-memory-size", 256 << 20),
            lookup_cache_file_retention_ms=reader.duration(
                "lookup.cache-file-retention", 3_600_000
            ),
            force_lookup=reader.flag("force-lookup"),
            commit_force_compact=reader.flag("commit.force-compact"),
            full_compaction_delta_commits=reader.optional_integer("full-compaction.delta-commits"),
            changelog_producer=reader.choice("changelog-producer", ChangelogProducer.NONE),
            changelog_producer_row_deduplicate=reader.flag("changelog-producer.row-deduplicate"),
            changelog_producer_row_deduplicate_ignore_fields=reader.names(
                "changelog-producer.row-deduplicate-ignore-fields", strip=False
            ),
            changelog_file_format=reader.optional_name("changelog-file.format"),
            changelog_file_compression=reader.optional_name("changelog-file.compression"),
            delete_retention_ms=reader.optional_duration(DELETE_RETENTION),
            delete_time_fields=reader.names(DELETE_TIME_FIELDS),
            key_bytes_max=reader.size(KEY_BYTES_MAX, 64 << 10),
            defaults_by_group=reader.flag(DEFAULTS_BY_GROUP),
            null_deletes=reader.names(NULL_DELETES, strip=False),
            null_deletes_kept_fields=reader.names(NULL_DELETES_KEPT, strip=False),
            null_deletes_mark_fields=reader.names(NULL_DELETES_MARKS, strip=False),
            deletion_vectors_enabled=reader.flag("deletion-vectors.enabled"),
            deletion_vectors_merge_on_read=reader.flag("deletion-vectors.merge-on-read"),
            deletion_vectors_bitmap64=reader.flag("deletion-vectors.bitmap64"),
        )
        reader.raise_problems()
        return parsed


_CODEC_ALIASES: Final = {"zstd": "zstandard", "none": "null"}
_SIZE_UNITS: Final = {
    "": 1, "b": 1, "bytes": 1,
    "k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10,
    "m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20,
    "g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30,
    "t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40,
}  # fmt: skip
# Nanoseconds, so that the smallest unit is a whole number.
_TIME_UNITS: Final = {
    **dict.fromkeys(["ns", "nano", "nanos", "nanosecond", "nanoseconds"], 1),
    **dict.fromkeys(["us", "µs", "micro", "micros", "microsecond", "microseconds"], 10**3),
    **dict.fromkeys(["", "ms", "milli", "millis", "millisecond", "milliseconds"], 10**6),
    **dict.fromkeys(["s", "sec", "secs", "second", "seconds"], 10**9),
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes"], 60 * 10**9),
    **dict.fromkeys(["h", "hour", "hours"], 3600 * 10**9),
    **dict.fromkeys(["d", "day", "days"], 86_400 * 10**9),
}
_QUANTITY: Final = re.compile(r"\s*(\d+)\s*([^\W\d]*)\s*")

ValueT = TypeVar("ValueT")
EnumT = TypeVar("EnumT", bound=StrEnum)


def parse_size(text: str) -> int | None:
    """Return the bytes of `128 MB`, `8mb` or `1024`; None when it is no size."""
    return _parse_quantity(text, _SIZE_UNITS)


def parse_duration(text: str) -> int | None:
    """Return the milliseconds, rounded down, of `1 h`, `10s` or `500`; None when it is none."""
    nanoseconds = _parse_quantity(text, _TIME_UNITS)
    return None if nanoseconds is None else nanoseconds // 10**6


def _parse_quantity(text: str, units: Mapping[str, int]) -> int | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    factor = units.get(match.group(2).lower())
    return None if factor is None else int(match.group(1)) * factor


class _OptionReader:
    """Reads options one by one and remembers what is wrong, to tell it all at once."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._problems: list[Problem] = []

    def raise_problems(self) -> None:
        if self._problems:
            text = "the table's options cannot be read"
            raise InvalidRequest(text, problems=self._problems)

    def text(self, key: str, default: str) -> str:
        return self._options.get(key, default)

    def optional_text(self, key: str) -> str | None:
        return self._options.get(key)

    def optional_name(self, key: str) -> str | None:
        text = self._options.get(key)
        return None if text is None else text.lower()

    def per_level(self, key: str, example: str) -> tuple[tuple[int, str], ...]:
        expected = f"expected levels, each once, and what they get, such as `{example}`"
        return self._read(key, (), _parse_per_level, expected)

    def name_prefix(self, key: str, default: str) -> str:
        expected = (
            f"expected the start of a file's name of at most {_NAME_PREFIX_BYTES_MAX} bytes, "
            "without `/` and NUL"
        )
        return self._read(key, default, _parse_name_prefix, expected)

    def directory(self, key: str) -> str | None:
        expected = (
            "expected a directory below the table's own, such as `data`: neither absolute nor "
            f"with `.`, `..` or NUL, names of at most {_NAME_BYTES_MAX} bytes"
        )
        return self._read(key, None, _parse_directory, expected)

    def names(self, key: str, *, strip: bool = True) -> tuple[str, ...]:
        # Java trims the names of some lists and not of others; a space can be part of a name.
        names = self._options.get(key, "").split(",")
        return tuple(filter(None, (name.strip() if strip else name for name in names)))

    def flag(self, key: str, *, default: bool = False, fallbacks: Sequence[str] = ()) -> bool:
        present = [name for name in (key, *fallbacks) if name in self._options]
        return self._read((present or [key])[0], default, _parse_flag, "expected true or false")

    def integer(self, key: str, default: int, *, low: int = -_INT_MAX, high: int = _INT_MAX) -> int:
        def parse(text: str) -> int | None:
            number = parse_integer(text)
            return number if number is not None and low <= number <= high else None

        limits = {-_INT_MAX: ""}.get(low, f" from {low}") + {_INT_MAX: ""}.get(high, f" to {high}")
        return self._read(key, default, parse, f"expected a whole number{limits}")

    def ratio(self, key: str, default: float) -> float:
        return self._read(key, default, _parse_ratio, "expected a number from 0")

    def optional_integer(self, key: str) -> int | None:
        return self._read(key, None, parse_integer, "expected a whole number")

    def size(self, key: str, default: int) -> int:
        return self._read(key, default, parse_size, "expected a size such as `128 mb`")

    def optional_size(self, key: str) -> int | None:
        return self._read(key, None, parse_size, "expected a size such as `128 mb`")

    def duration(self, key: str, default: int) -> int:
        return self._read(key, default, parse_duration, "expected a duration such as `10 s`")

    def optional_duration(self, key: str) -> int | None:
        return self._read(key, None, parse_duration, "expected a duration such as `10 s`")

    def descending(self, key: str) -> bool:
        values = {"ascending": False, "descending": True}
        expected = "expected ascending or descending"
        return self._read(key, False, lambda text: values.get(text.lower()), expected)

    def bucket(self) -> int:
        def parse(text: str) -> int | None:
            number = parse_integer(text)
            valid = number is not None and POSTPONE_BUCKET <= number <= BUCKETS_MAX and number != 0
            return number if valid else None

        expected = f"expected a bucket count from 1 to {BUCKETS_MAX}, or -1 for dynamic buckets"
        return self._read("bucket", DYNAMIC_BUCKET, parse, expected)

    def bucket_bound(self, key: str) -> int:
        def parse(text: str) -> int | None:
            number = parse_integer(text)
            valid = number is not None and (number == -1 or 0 < number <= _INT_MAX)
            return number if valid else None

        expected = "expected a number of buckets from 1, or -1 for no bound"
        return self._read(key, -1, parse, expected)

    def choice(
        self, key: str, default: EnumT, *, aliases: Mapping[str, str] | None = None
    ) -> EnumT:
        by_name = {str(member): member for member in type(default)}
        spellings = {**{name: name for name in by_name}, **(aliases or {})}

        def parse(text: str) -> EnumT | None:
            return by_name.get(spellings.get(text.lower(), ""))

        return self._read(key, default, parse, f"expected one of {', '.join(by_name)}")

    def _read(
        self, key: str, default: ValueT, parse: Callable[[str], ValueT | None], expected: str
    ) -> ValueT:
        text = self._options.get(key)
        if text is None:
            return default
        value = parse(text)
        if value is None:
            self._problems.append(Problem(field=key, value=text, message=expected))
            return default
        return value


def _parse_flag(text: str) -> bool | None:
    # Any case, but no blanks around it: the reference trims sizes, times and names alone.
    return {"true": True, "false": False}.get(text.lower())


def _parse_name_prefix(text: str) -> str | None:
    is_name = "/" not in text and "\0" not in text
    return text if is_name and _fits_bytes(text, _NAME_PREFIX_BYTES_MAX) else None


def _parse_directory(text: str) -> str | None:
    """Return a path that cannot leave the table's directory, else None."""
    names = text.removesuffix("/").split("/")
    is_inside = all(
        name not in ("", ".", "..") and "\0" not in name and _fits_bytes(name, _NAME_BYTES_MAX)
        for name in names
    )
    return text if is_inside else None


def _parse_per_level(text: str) -> tuple[tuple[int, str], ...] | None:
    """Return levels and names in lower case, ascending by level; None when it is no such list."""
    pairs = [re.fullmatch(r"\s*(\d+)\s*:\s*([^\s:]+)\s*", part) for part in text.split(",")]
    found = sorted((int(pair.group(1)), pair.group(2).lower()) for pair in pairs if pair)
    is_whole = len(found) == len(pairs) and len(dict(found)) == len(found)
    return tuple(found) if is_whole else None


def _fits_bytes(text: str, limit: int) -> bool:
    return len(text.encode(errors="surrogatepass")) <= limit


def _parse_ratio(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\+?\d+(\.\d*)?\s*", text) else None


def parse_integer(text: str) -> int | None:
    """Return the whole number of `12` or `-1`; None when it is none, as with a blank before it."""
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else None
