"""The contracts as data: what crosses the borders between processes. A leaf: imports nothing."""

from schemas.aggregate import OPTION_OF_FIELD, AggregateSpec
from schemas.contract import Contract
from schemas.document import (
    AppliedChange,
    DesiredState,
    PendingSchema,
    StreamEntry,
    TableDocument,
)
from schemas.problem import FieldProblem, Problem, ProblemCode
from schemas.progress import (
    Account,
    BackPressure,
    RunnerProgress,
    StreamProgress,
    StreamState,
    TableProgress,
)
from schemas.row import GroupState, GroupStatus, RowStatus, SnapshotInfo, WideRow
from schemas.status import (
    AccountView,
    LastCommit,
    MaintenanceStatus,
    StreamStatus,
    TableUpkeepView,
)
from schemas.stream import (
    KafkaSpec,
    OnNewField,
    OnNullOrdering,
    StartingOffsets,
    StreamColumn,
    StreamDefinition,
    StreamFormat,
    StreamSpec,
)
from schemas.table import (
    ColumnSpec,
    CompletenessSpec,
    DeleteRetentionSpec,
    Deletes,
    MergeEngine,
    SequenceGroupSpec,
    StalenessSpec,
    TableSpec,
    Unordered,
)

__all__ = [
    "OPTION_OF_FIELD",
    "Account",
    "AccountView",
    "AggregateSpec",
    "AppliedChange",
    "BackPressure",
    "ColumnSpec",
    "CompletenessSpec",
    "Contract",
    "DeleteRetentionSpec",
    "Deletes",
    "DesiredState",
    "FieldProblem",
    "GroupState",
    "GroupStatus",
    "KafkaSpec",
    "LastCommit",
    "MaintenanceStatus",
    "MergeEngine",
    "OnNewField",
    "OnNullOrdering",
    "PendingSchema",
    "Problem",
    "ProblemCode",
    "RowStatus",
    "RunnerProgress",
    "SequenceGroupSpec",
    "SnapshotInfo",
    "StalenessSpec",
    "StartingOffsets",
    "StreamColumn",
    "StreamDefinition",
    "StreamEntry",
    "StreamFormat",
    "StreamProgress",
    "StreamSpec",
    "StreamState",
    "StreamStatus",
    "TableDocument",
    "TableProgress",
    "TableSpec",
    "TableUpkeepView",
    "Unordered",
    "WideRow",
]
