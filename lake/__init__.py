"""The table engine: Arrow batches in, files of an open table format out, rows back."""

from lake.errors import (
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

__all__ = [
    "CommitConflict",
    "CommitUnknown",
    "CorruptData",
    "InvalidRequest",
    "LakeError",
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
