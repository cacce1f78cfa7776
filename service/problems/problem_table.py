"""Mapping of errors to HTTP: error classes to codes, codes to status and title, and the framework's statuses to codes.

| code                   | status | reaction of the caller                               |
|------------------------|--------|------------------------------------------------------|
| malformed_request      | 400    | sends JSON                                           |
| unauthenticated        | 401    | sends a valid access token                           |
| scope_missing          | 403    | asks the operators for a token with the scope        |
| origin_refused         | 403    | asks the operators to allow its site                 |
| signature_refused      | 403    | signs the body with the secret of the topic          |
| column_masked          | 403    | names other columns, or asks the operators           |
| not_found              | 404    | fixes the address                                    |
| table_not_found        | 404    | fixes the name                                       |
| stream_not_found       | 404    | fixes the name                                       |
| row_not_found          | 404    | treats the row as absent                             |
| index_not_found        | 404    | fixes the name                                       |
| view_not_found         | 404    | fixes the name                                       |
| snapshot_not_found     | 404    | chooses a snapshot that exists                       |
| tag_not_found          | 404    | fixes the name                                       |
| operation_not_found    | 404    | fixes the id, or requests the operation anew         |
| method_not_allowed     | 405    | uses a method that the address has                   |
| not_acceptable         | 406    | accepts JSON                                         |
| request_timeout        | 408    | sends the request in one go                          |
| table_exists           | 409    | repeats the declaration as it is, or uses a new name |
| stream_exists          | 409    | registers another stream                             |
| stream_not_stopped     | 409    | stops the stream first                               |
| stream_not_running     | 409    | starts or resumes the stream                         |
| features_missing       | 409    | sends it to a newer version of the service           |
| schema_mismatch        | 409    | fixes data or schema                                 |
| conflict               | 409    | tries again                                          |
| idempotency_conflict   | 409    | sends the first body again, or uses a new key        |
| snapshot_not_reached   | 409    | tries again, or accepts an older snapshot            |
| expired                | 410    | starts again from the newest snapshot                |
| precondition_failed    | 412    | reads again, then decides again                      |
| limit_exceeded         | 413    | sends less                                           |
| unsupported_media_type | 415    | sends JSON, uncompressed, with its `content-type`    |
| host_refused           | 421    | uses a name that the service answers to              |
| invalid_request        | 422    | fixes every field of `errors`                        |
| too_many_requests      | 429    | tries again after `retry-after` seconds, less often  |
| too_many_subscriptions | 429    | tries again after `retry-after` seconds              |
| headers_too_large      | 431    | sends less                                           |
| internal_error         | 500    | reports it to the operators, with the request id     |
| corrupt_data           | 500    | reports it to the operators, with the request id     |
| unsupported_feature    | 501    | does not use the feature                             |
| storage_unavailable    | 503    | tries again after `retry-after` seconds              |
| not_ready              | 503    | tries again after `retry-after` seconds              |
| overloaded             | 503    | tries again after `retry-after` seconds              |
"""

from collections.abc import Mapping
from typing import Final

from braid.lake import (
    ChangesExpired,
    CommitConflict,
    CommitUnknown,
    CorruptData,
    InvalidRequest,
    LakeError,
    LeaseLost,
    LimitExceeded,
    OffsetMismatch,
    SchemaMismatch,
    StorageUnavailable,
    StreamFenced,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
)
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.records.outgoing_records import RequestDiffers
from braid.registry.errors import (
    DefinitionDiffers,
    DefinitionRefused,
    FeaturesMissing,
    KeyReused,
    NoRunnerAnswers,
    OperationNotFound,
    PreconditionFailed,
    RegistryConflict,
    StreamNotFound,
    StreamNotRunning,
    StreamNotStopped,
    TooManyOperations,
)
from braid.schemas import ProblemCode
from braid.service.column_mask import ColumnMasked
from braid.service.control.index_lookup import IndexNotBuilt, IndexNotFound
from braid.service.control.push import SenderUnknown, SignatureRefused
from braid.service.control.row_lookup import RowNotFound, SnapshotNotReached
from braid.service.control.row_pages import PagesExpired
from braid.service.control.snapshot_resources import SnapshotNotFound, TagNotFound
from braid.service.control.view_lookup import ViewNotFound
from braid.service.lifecycle import ServiceStops
from braid.service.request_slot import SlotNotFree
from braid.service.serving.completeness_counts import TooManyCounts
from braid.service.serving.snapshot_waits import TooManyWaits

STATUS_AND_TITLE: Final[Mapping[ProblemCode, tuple[int, str]]] = {
    ProblemCode.MALFORMED_REQUEST: (400, "The request is not readable"),
    ProblemCode.UNAUTHENTICATED: (401, "The client is not known"),
    ProblemCode.SCOPE_MISSING: (403, "The client may not do this"),
    ProblemCode.ORIGIN_REFUSED: (403, "The request comes from another site"),
    ProblemCode.SIGNATURE_REFUSED: (403, "The request is not signed as it has to be"),
    ProblemCode.COLUMN_MASKED: (403, "A column is masked"),
    ProblemCode.NOT_FOUND: (404, "There is nothing at this address"),
    ProblemCode.TABLE_NOT_FOUND: (404, "There is no such table"),
    ProblemCode.STREAM_NOT_FOUND: (404, "The table has no such stream"),
    ProblemCode.ROW_NOT_FOUND: (404, "The table has no such row"),
    ProblemCode.INDEX_NOT_FOUND: (404, "The table has no such lookup index"),
    ProblemCode.VIEW_NOT_FOUND: (404, "The table has no such feature view"),
    ProblemCode.METHOD_NOT_ALLOWED: (405, "The address does not have this method"),
    ProblemCode.SNAPSHOT_NOT_FOUND: (404, "The table has no such snapshot"),
    ProblemCode.TAG_NOT_FOUND: (404, "The table has no such tag"),
    ProblemCode.OPERATION_NOT_FOUND: (404, "There is no such operation"),
    ProblemCode.NOT_ACCEPTABLE: (406, "No form of the answer is acceptable"),
    ProblemCode.REQUEST_TIMEOUT: (408, "The request did not arrive in time"),
    ProblemCode.TABLE_EXISTS: (409, "The name belongs to another table"),
    ProblemCode.STREAM_EXISTS: (409, "The name belongs to another stream"),
    ProblemCode.STREAM_NOT_STOPPED: (409, "The stream is not stopped"),
    ProblemCode.STREAM_NOT_RUNNING: (409, "The stream's desired state is not RUNNING"),
    ProblemCode.FEATURES_MISSING: (409, "A newer version is needed"),
    ProblemCode.SCHEMA_MISMATCH: (409, "The data does not fit the schema"),
    ProblemCode.CONFLICT: (409, "Another change was made at the same time"),
    ProblemCode.IDEMPOTENCY_CONFLICT: (409, "The idempotency key belongs to another request"),
    ProblemCode.SNAPSHOT_NOT_REACHED: (409, "The table has no snapshot that is new enough"),
    ProblemCode.EXPIRED: (410, "The requested data has expired"),
    ProblemCode.PRECONDITION_FAILED: (412, "A precondition of the request does not hold"),
    ProblemCode.LIMIT_EXCEEDED: (413, "The request is too large"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: (415, "The body is not sent as JSON"),
    ProblemCode.HOST_REFUSED: (421, "The request is for another service"),
    ProblemCode.INVALID_REQUEST: (422, "The request breaks rules"),
    ProblemCode.TOO_MANY_REQUESTS: (429, "Too many requests are waiting"),
    ProblemCode.TOO_MANY_SUBSCRIPTIONS: (429, "There are too many subscriptions"),
    ProblemCode.HEADERS_TOO_LARGE: (431, "The head of the request is too large"),
    ProblemCode.INTERNAL_ERROR: (500, "The service failed"),
    ProblemCode.CORRUPT_DATA: (500, "Stored data cannot be read"),
    ProblemCode.UNSUPPORTED_FEATURE: (501, "This version does not support it"),
    ProblemCode.STORAGE_UNAVAILABLE: (503, "Storage, Kafka or a schema registry does not answer"),
    ProblemCode.NOT_READY: (503, "The service is not ready"),
    ProblemCode.OVERLOADED: (503, "The service is busy"),
}

_CODES: Final[Mapping[type[Exception], ProblemCode]] = {
    DefinitionRefused: ProblemCode.INVALID_REQUEST,
    PreconditionFailed: ProblemCode.PRECONDITION_FAILED,
    RegistryConflict: ProblemCode.CONFLICT,
    NoRunnerAnswers: ProblemCode.NOT_READY,
    StreamNotFound: ProblemCode.STREAM_NOT_FOUND,
    OperationNotFound: ProblemCode.OPERATION_NOT_FOUND,
    TooManyOperations: ProblemCode.TOO_MANY_REQUESTS,
    SnapshotNotFound: ProblemCode.SNAPSHOT_NOT_FOUND,
    TagNotFound: ProblemCode.TAG_NOT_FOUND,
    StreamNotStopped: ProblemCode.STREAM_NOT_STOPPED,
    FeaturesMissing: ProblemCode.FEATURES_MISSING,
    StreamNotRunning: ProblemCode.STREAM_NOT_RUNNING,
    ColumnMasked: ProblemCode.COLUMN_MASKED,
    RowNotFound: ProblemCode.ROW_NOT_FOUND,
    IndexNotFound: ProblemCode.INDEX_NOT_FOUND,
    IndexNotBuilt: ProblemCode.NOT_READY,
    ServiceStops: ProblemCode.NOT_READY,
    ViewNotFound: ProblemCode.VIEW_NOT_FOUND,
    SenderUnknown: ProblemCode.UNAUTHENTICATED,
    SignatureRefused: ProblemCode.SIGNATURE_REFUSED,
    RequestDiffers: ProblemCode.IDEMPOTENCY_CONFLICT,
    KeyReused: ProblemCode.IDEMPOTENCY_CONFLICT,
    SnapshotNotReached: ProblemCode.SNAPSHOT_NOT_REACHED,
    TableNotFound: ProblemCode.TABLE_NOT_FOUND,
    TableExists: ProblemCode.TABLE_EXISTS,
    SchemaMismatch: ProblemCode.SCHEMA_MISMATCH,
    UnsupportedFeature: ProblemCode.UNSUPPORTED_FEATURE,
    ChangesExpired: ProblemCode.EXPIRED,
    LeaseLost: ProblemCode.EXPIRED,
    ManifestGone: ProblemCode.EXPIRED,
    PagesExpired: ProblemCode.EXPIRED,
    TooManyCounts: ProblemCode.TOO_MANY_REQUESTS,
    TooManyWaits: ProblemCode.TOO_MANY_REQUESTS,
    SlotNotFree: ProblemCode.OVERLOADED,
    InvalidRequest: ProblemCode.INVALID_REQUEST,
    CommitConflict: ProblemCode.CONFLICT,
    CommitUnknown: ProblemCode.STORAGE_UNAVAILABLE,
    StreamFenced: ProblemCode.CONFLICT,
    OffsetMismatch: ProblemCode.CONFLICT,
    StorageUnavailable: ProblemCode.STORAGE_UNAVAILABLE,
    CorruptData: ProblemCode.CORRUPT_DATA,
    LimitExceeded: ProblemCode.LIMIT_EXCEEDED,
    LakeError: ProblemCode.INTERNAL_ERROR,
}
_CODES_OF_STATUS: Final[Mapping[int, ProblemCode]] = {
    400: ProblemCode.MALFORMED_REQUEST,
    404: ProblemCode.NOT_FOUND,
    405: ProblemCode.METHOD_NOT_ALLOWED,
    415: ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    422: ProblemCode.INVALID_REQUEST,
}


def code_of(error: Exception) -> ProblemCode:
    """Return the code of an error: that of its class, or of the nearest base class in the table."""
    if isinstance(error, DefinitionDiffers):
        is_table = error.kind == "table"
        return ProblemCode.TABLE_EXISTS if is_table else ProblemCode.STREAM_EXISTS
    for cls in type(error).__mro__:
        if cls in _CODES:
            return _CODES[cls]
    return ProblemCode.INTERNAL_ERROR


def code_of_status(status: int) -> ProblemCode:
    """Return the code of an error that the web framework itself has raised."""
    return _CODES_OF_STATUS.get(status, ProblemCode.INTERNAL_ERROR)
