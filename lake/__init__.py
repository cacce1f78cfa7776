"""The public names of the table engine, which creates, writes, reads and maintains tables of Apache Paimon's format.

```
catalog = Catalog("/data/warehouse")
orders = catalog.create_table(
    "shop.orders",
    columns=[("id", "BIGINT"), ("paid", "DECIMAL(10, 2)"), ("shipped", "DATE")],
    primary_key=["id"],
    options={"bucket": "4", "merge-engine": "partial-update"},
)
orders.write_and_commit(pa.table({"id": [7], "paid": [Decimal("9.50")]}))
orders.write_and_commit(pa.table({"id": [7], "shipped": [date(2026, 1, 2)]}))
orders.get({"id": 7})  # one row, both columns
```

Applications import from here. Packages that define aggregate functions import from `braid.lake.aggregates`. Rows are
exchanged as Arrow data. `__all__` groups the names by their use; docs/architecture.md lists the folders.
"""

from braid.lake.aggregates import (
    AggregateFunction,
    ColumnFunction,
    FunctionDeclaration,
    FunctionOption,
    Pick,
    Reduced,
    Reduction,
    Segments,
    Step,
    Steps,
)
from braid.lake.commit.commit_result import CommitResult, Outcome
from braid.lake.commit.committer import TableCommitter
from braid.lake.commit.discard import commit_or_discard
from braid.lake.commit.replay_intent import ReplayedLetters
from braid.lake.commit.streams.backfill_position import backfill_name, split_backfill_name
from braid.lake.commit.streams.exactly_once import BatchDecision, decide_batch, is_same_topic
from braid.lake.commit.streams.former_position import discards_former_position
from braid.lake.commit.streams.group_order import (
    OFFSET_MAX,
    WHOLE_ROWS,
    GroupClaim,
    GroupOrder,
    PartitionGrowth,
    orders_of,
    split_offset,
    stored_offset,
)
from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.offset_ranges import holds_offset, with_offsets
from braid.lake.commit.streams.position_moves import (
    MoveCause,
    PositionMove,
    repeated_ranges,
    skipped_ranges,
    split_by_reading,
)
from braid.lake.commit.streams.query_position import (
    BATCHES,
    ONE_WRITES,
    ROWS,
    QueryBatch,
    QueryTurn,
    write_digest,
)
from braid.lake.commit.streams.read_offsets import offsets_left_older, read_ranges_of
from braid.lake.commit.streams.stream_letters import (
    LetterAttempt,
    OffsetRanges,
    RecentRecords,
    StreamLetters,
)
from braid.lake.commit.streams.stream_position import (
    BatchAccount,
    StreamBatch,
    StreamFallback,
    StreamPosition,
    batch_of,
    positions_of,
)
from braid.lake.declaration.column_problem import ColumnProblem
from braid.lake.declaration.ineffective_options import ineffective_options
from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import (
    CommitConflict,
    CommitUnknown,
    CorruptData,
    InvalidRequest,
    LakeError,
    LimitExceeded,
    OffsetMismatch,
    Problem,
    SchemaMismatch,
    StorageUnavailable,
    StreamFenced,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
)
from braid.lake.evolution.change_problem import ChangeProblem
from braid.lake.evolution.column_differences import column_differences
from braid.lake.evolution.merge_types import merge_fields
from braid.lake.evolution.option_renames import rename_in_options
from braid.lake.evolution.schema_changes import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    Position,
    PositionKind,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from braid.lake.evolution.schema_differences import schema_differences
from braid.lake.files.clock import Clock, ManualClock, SystemClock
from braid.lake.files.data_files import ReadCounters
from braid.lake.files.declared_type import without_hidden_nulls
from braid.lake.files.storage.file_io import FileIO, FileStatus
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.files.storage.open import file_io_for, path_for
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.format.arrow_types import VARIANT_TYPE, to_arrow_type
from braid.lake.format.bucket import assign_buckets
from braid.lake.format.casts.exact_times import why_not_exact
from braid.lake.format.commit_message import CommitMessage, parse_messages, serialize_messages
from braid.lake.format.data_types import (
    DataField,
    DataType,
    TypeRoot,
    assign_field_ids,
    highest_field_id,
    holds_variant,
)
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema, check_supported, parse_schema, serialize_schema
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.format.system_columns import RowKind
from braid.lake.format.tag import Tag
from braid.lake.format.type_codec import parse_type
from braid.lake.format.variant.columns import json_of_variants, variants_of_json
from braid.lake.format.variant.from_json import NotVariant, variant_of_json
from braid.lake.format.variant.to_json import json_of_variant
from braid.lake.maintenance.compaction.compactable import check_compactable
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.maintenance.compaction.compaction_result import CompactionResult, DroppedCompaction
from braid.lake.maintenance.expiry.expiry_result import ExpiryResult
from braid.lake.maintenance.orphan_files import OrphanFile, OrphanReport
from braid.lake.maintenance.rescale.rescale_result import RescaleResult
from braid.lake.maintenance.rollback import RollbackResult
from braid.lake.maintenance.spread_work import PathWork, Spread
from braid.lake.maintenance.table_tags import TagDeletion
from braid.lake.merge.explanation import ColumnReasons, Reason
from braid.lake.merge.fold import Machine
from braid.lake.merge.functions.registry import function_named, function_names
from braid.lake.merge.order.comparable_bytes import (
    comparable_bytes,
    comparable_form,
    trailing_integers,
)
from braid.lake.merge.value_checks import ValueChecks
from braid.lake.options.option_parsers import parse_duration, parse_size
from braid.lake.options.table_options import ChangelogProducer, MergeEngine, TableOptions
from braid.lake.read.condition_syntax import Comparison, LiteralKind, parse_comparisons
from braid.lake.read.condition_text import bind_comparisons, parse_conditions
from braid.lake.read.key_range import EVERY_KEY, KeyRange, text_after
from braid.lake.read.lookup.bucket_lookup import NotCopied
from braid.lake.read.lookup.copy_usage import CopyUsage
from braid.lake.read.lookup.lookup_settings import LookupSettings
from braid.lake.read.lookup.python_rows import Row, python_columns, python_rows
from braid.lake.read.predicate import (
    BoundCondition,
    Condition,
    Operator,
    bind_conditions,
    matching_rows,
)
from braid.lake.read.scan_plan import ScanPlan, Split
from braid.lake.read.snapshot_changes import ChangesMode
from braid.lake.snapshots.consumer_store import ConsumerFile
from braid.lake.snapshots.lease import Lease, LeaseLost
from braid.lake.table.catalog import Catalog
from braid.lake.table.inspection.inspection import Inspection
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup
from braid.lake.table.lookup.value_lookup import ValueLookup
from braid.lake.table.maintenance.bucket_work import (
    BucketOutcome,
    BucketPool,
    BucketWork,
    compact_buckets,
)
from braid.lake.table.maintenance.compaction_pool import CompactionPool
from braid.lake.table.maintenance.maintenance_service import MaintenanceService
from braid.lake.table.maintenance.maintenance_stats import MaintenanceStats
from braid.lake.table.read.changed_keys import ChangedKeys, ChangedKeysPosition
from braid.lake.table.read.changes import Changes, SnapshotChanges
from braid.lake.table.read.changes_range import ChangesExpired
from braid.lake.table.read.key_explanation import (
    KeyExplanation,
    KeyVersions,
    VersionSource,
    explain_versions,
)
from braid.lake.table.read.scan import Scan
from braid.lake.table.read.snapshot_source import HiddenRecords
from braid.lake.table.read.split_reader import SplitReader
from braid.lake.table.read_at import ReadAt, SnapshotRef
from braid.lake.table.table import Table
from braid.lake.write.bulk_writer import BulkWriter
from braid.lake.write.rows.key_length import key_is_long
from braid.lake.write.table_writer import TableWriter, WriteResult
from braid.lake.write.writable import check_writable

# Tables: create, open, write and read them.
__all__ = [
    "EVERY_KEY",
    "Catalog",
    "ChangesMode",
    "Condition",
    "CopyUsage",
    "Inspection",
    "KeyRange",
    "LookupSettings",
    "Machine",
    "Operator",
    "PathWork",
    "ReadAt",
    "Row",
    "RowKind",
    "SnapshotRef",
    "Spread",
    "Table",
    "parse_conditions",
]

# Conditions over the fields of messages.
__all__ += [
    "BoundCondition",
    "Comparison",
    "LiteralKind",
    "bind_comparisons",
    "bind_conditions",
    "matching_rows",
    "parse_comparisons",
    "text_after",
]

# What reading returns.
__all__ += [
    "ChangedKeys",
    "ChangedKeysPosition",
    "Changes",
    "CommitKind",
    "ConsumerFile",
    "HiddenRecords",
    "Lease",
    "ManifestEntry",
    "NotCopied",
    "ReadCounters",
    "Scan",
    "ScanPlan",
    "Snapshot",
    "SnapshotChanges",
    "SnapshotLookup",
    "Split",
    "SplitReader",
    "Tag",
    "ValueLookup",
    "python_columns",
    "python_rows",
]

# Why a row has its values.
__all__ += [
    "ColumnReasons",
    "KeyExplanation",
    "KeyVersions",
    "Reason",
    "VersionSource",
    "explain_versions",
]

# Writing and committing in steps, for writers on several machines.
__all__ += [
    "BulkWriter",
    "CommitMessage",
    "CommitResult",
    "Outcome",
    "TableCommitter",
    "TableWriter",
    "WriteResult",
    "assign_buckets",
    "commit_or_discard",
    "comparable_bytes",
    "comparable_form",
    "key_is_long",
    "parse_messages",
    "serialize_messages",
    "trailing_integers",
]

# Schemas and options: declare, check, store.
__all__ += [
    "ChangelogProducer",
    "DataField",
    "DataType",
    "MergeEngine",
    "TableOptions",
    "TableSchema",
    "TypeRoot",
    "assign_field_ids",
    "check_compactable",
    "check_supported",
    "check_writable",
    "highest_field_id",
    "holds_variant",
    "ineffective_options",
    "parse_duration",
    "parse_schema",
    "parse_size",
    "parse_type",
    "serialize_schema",
    "to_arrow_type",
    "validate_schema",
    "why_not_exact",
]

# VARIANT values: the Arrow form of their columns; from and to JSON. Nested values for writers of Arrow.
__all__ += [
    "VARIANT_TYPE",
    "NotVariant",
    "json_of_variant",
    "json_of_variants",
    "variant_of_json",
    "variants_of_json",
    "without_hidden_nulls",
]

# Schema changes, and the differences between schemas.
__all__ += [
    "AddColumn",
    "ChangeProblem",
    "ColumnProblem",
    "DropColumn",
    "DropPrimaryKey",
    "Position",
    "PositionKind",
    "RemoveOption",
    "RenameColumn",
    "SchemaChange",
    "SetOption",
    "UpdateColumnComment",
    "UpdateColumnDefault",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
    "column_differences",
    "merge_fields",
    "rename_in_options",
    "schema_differences",
]

# Maintenance: compaction, expiry, rescale, rollback, orphan files.
__all__ += [
    "BucketOutcome",
    "BucketPool",
    "BucketWork",
    "CompactionMemory",
    "CompactionPool",
    "CompactionResult",
    "DroppedCompaction",
    "ExpiryResult",
    "MaintenanceService",
    "MaintenanceStats",
    "OrphanFile",
    "OrphanReport",
    "RescaleResult",
    "RollbackResult",
    "TagDeletion",
    "compact_buckets",
]

# Exactly-once commits of streams: positions, epochs, and the order of groups.
__all__ += [
    "BATCHES",
    "OFFSET_MAX",
    "ONE_WRITES",
    "ROWS",
    "WHOLE_ROWS",
    "BatchAccount",
    "BatchDecision",
    "GroupClaim",
    "GroupOrder",
    "HighestRead",
    "LetterAttempt",
    "MoveCause",
    "OffsetRanges",
    "PartitionGrowth",
    "PositionMove",
    "QueryBatch",
    "QueryTurn",
    "RecentRecords",
    "ReplayedLetters",
    "StreamBatch",
    "StreamFallback",
    "StreamLetters",
    "StreamPosition",
    "backfill_name",
    "batch_of",
    "decide_batch",
    "discards_former_position",
    "holds_offset",
    "is_same_topic",
    "offsets_left_older",
    "orders_of",
    "positions_of",
    "read_ranges_of",
    "repeated_ranges",
    "skipped_ranges",
    "split_backfill_name",
    "split_by_reading",
    "split_offset",
    "stored_offset",
    "with_offsets",
    "write_digest",
]

# Aggregate functions: most names of `braid.lake.aggregates`, the function of a name, and checks of its values.
__all__ += [
    "AggregateFunction",
    "ColumnFunction",
    "FunctionDeclaration",
    "FunctionOption",
    "Pick",
    "Reduced",
    "Reduction",
    "Segments",
    "Step",
    "Steps",
    "ValueChecks",
    "function_named",
    "function_names",
]

# Storage and clock.
__all__ += [
    "Clock",
    "FileIO",
    "FileStatus",
    "LocalFileIO",
    "ManualClock",
    "MemoryFileIO",
    "ScratchDirectory",
    "SystemClock",
    "file_io_for",
    "path_for",
]

# Errors, by the reaction that they need.
__all__ += [
    "ChangesExpired",
    "CommitConflict",
    "CommitUnknown",
    "CorruptData",
    "InvalidRequest",
    "LakeError",
    "LeaseLost",
    "LimitExceeded",
    "OffsetMismatch",
    "Problem",
    "SchemaMismatch",
    "StorageUnavailable",
    "StreamFenced",
    "TableExists",
    "TableNotFound",
    "UnsupportedFeature",
]
