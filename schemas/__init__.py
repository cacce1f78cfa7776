"""Contracts as data: the documents and messages that processes exchange. Imports no other package.

| module | what |
|---|---|
| `contract` | the base class, and bounded types |
| `table`, `aggregate`, `stream`, `message_format` | declarations |
| `schema_change` | requested changes of a table |
| `document` | the stored document of a table and its streams |
| `progress` | the report of a runner |
| `row`, `status` | answers of the service about rows, streams and maintenance |
| `problem`, `field_problems` | the body of an error answer; problems of single fields |
"""

from braid.schemas.aggregate import OPTION_OF_FIELD, AggregateSpec
from braid.schemas.contract import Contract
from braid.schemas.document import (
    AppliedChange,
    DesiredState,
    PendingSchema,
    StreamEntry,
    TableDocument,
)
from braid.schemas.message_format import (
    AvroFormat,
    CsvFormat,
    JsonFormat,
    MessageFormat,
    RawFormat,
    schema_registry_of,
)
from braid.schemas.problem import FieldProblem, ProblemCode, ProblemDocument
from braid.schemas.progress import (
    Account,
    BackPressure,
    RunnerProgress,
    StreamFailure,
    StreamProgress,
    StreamState,
    TableProgress,
)
from braid.schemas.row import Arrival, GroupState, GroupStatus, RowStatus, SnapshotInfo, WideRow
from braid.schemas.schema_change import (
    AddColumnChange,
    AddSequenceGroupChange,
    ColumnPlace,
    ColumnPosition,
    DropColumnChange,
    RemoveOptionChange,
    RenameColumnChange,
    SchemaChanges,
    SetOptionChange,
    TableChange,
    UpdateColumnAggregateChange,
    UpdateColumnCommentChange,
    UpdateColumnDefaultChange,
    UpdateColumnNullabilityChange,
    UpdateColumnPositionChange,
    UpdateColumnTypeChange,
    UpdateCommentChange,
    UpdateRowTtlChange,
)
from braid.schemas.status import (
    AccountView,
    FailureView,
    LastCommit,
    MaintenanceStatus,
    StreamStatus,
    TableMaintenanceView,
    VerbAnswer,
)
from braid.schemas.stream import (
    ColumnSource,
    KafkaSpec,
    OnDelete,
    OnNewField,
    OnNullOrdering,
    OnPartitionsAdded,
    StartingOffsets,
    StreamColumn,
    StreamDefinition,
    StreamSpec,
)
from braid.schemas.table import (
    BUCKETS_MAX,
    ColumnSpec,
    CompletenessSpec,
    DeleteRetentionSpec,
    Deletes,
    MergeEngine,
    RowTtlSpec,
    SequenceGroupSpec,
    StalenessSpec,
    TableSpec,
    Unordered,
)

__all__ = [
    "BUCKETS_MAX",
    "OPTION_OF_FIELD",
    "Account",
    "AccountView",
    "AddColumnChange",
    "AddSequenceGroupChange",
    "AggregateSpec",
    "AppliedChange",
    "Arrival",
    "AvroFormat",
    "BackPressure",
    "ColumnPlace",
    "ColumnPosition",
    "ColumnSource",
    "ColumnSpec",
    "CompletenessSpec",
    "Contract",
    "CsvFormat",
    "DeleteRetentionSpec",
    "Deletes",
    "DesiredState",
    "DropColumnChange",
    "FailureView",
    "FieldProblem",
    "GroupState",
    "GroupStatus",
    "JsonFormat",
    "KafkaSpec",
    "LastCommit",
    "MaintenanceStatus",
    "MergeEngine",
    "MessageFormat",
    "OnDelete",
    "OnNewField",
    "OnNullOrdering",
    "OnPartitionsAdded",
    "PendingSchema",
    "ProblemCode",
    "ProblemDocument",
    "RawFormat",
    "RemoveOptionChange",
    "RenameColumnChange",
    "RowStatus",
    "RowTtlSpec",
    "RunnerProgress",
    "SchemaChanges",
    "SequenceGroupSpec",
    "SetOptionChange",
    "SnapshotInfo",
    "StalenessSpec",
    "StartingOffsets",
    "StreamColumn",
    "StreamDefinition",
    "StreamEntry",
    "StreamFailure",
    "StreamProgress",
    "StreamSpec",
    "StreamState",
    "StreamStatus",
    "TableChange",
    "TableDocument",
    "TableMaintenanceView",
    "TableProgress",
    "TableSpec",
    "Unordered",
    "UpdateColumnAggregateChange",
    "UpdateColumnCommentChange",
    "UpdateColumnDefaultChange",
    "UpdateColumnNullabilityChange",
    "UpdateColumnPositionChange",
    "UpdateColumnTypeChange",
    "UpdateCommentChange",
    "UpdateRowTtlChange",
    "VerbAnswer",
    "WideRow",
    "schema_registry_of",
]
