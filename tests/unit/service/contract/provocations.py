"""The table of provocations: by problem, the function that provokes it for an operation that documents it.

Each sends a real request to a real service over storage in memory, and returns what is answered. A function that treats one
operation in another way than the others says so; most treat all alike.
"""

from collections.abc import Callable, Mapping
from typing import Final

from braid.schemas import ProblemCode
from tests.unit.service.contract import absent, changed, identified, read, refused, stored
from tests.unit.service.contract.answered import Answered
from tests.unit.service.contract.documented import Operation
from tests.unit.service.contract.invalid import invalid

_COUNTING: Final = Answered(status=202, code=None)
"""The rows of a table are still being counted for its completeness: on a busy machine that takes longer than the request waits."""


def provoked(operation: Operation, code: ProblemCode) -> Answered:
    """Return the answer to the request that provokes a problem of an operation."""
    found = PROVOCATIONS[code](operation)
    while found == _COUNTING and operation.path.endswith("/completeness"):
        found = PROVOCATIONS[code](operation)
    return found


PROVOCATIONS: Final[Mapping[ProblemCode, Callable[[Operation], Answered]]] = {
    ProblemCode.MALFORMED_REQUEST: refused.malformed,
    ProblemCode.UNAUTHENTICATED: identified.stranger,
    ProblemCode.SCOPE_MISSING: identified.without_scope,
    ProblemCode.ORIGIN_REFUSED: refused.another_site,
    ProblemCode.SIGNATURE_REFUSED: identified.unsigned,
    ProblemCode.COLUMN_MASKED: identified.masked,
    ProblemCode.NOT_FOUND: absent.address_without_route,
    ProblemCode.TABLE_NOT_FOUND: absent.no_table,
    ProblemCode.STREAM_NOT_FOUND: absent.no_stream,
    ProblemCode.ROW_NOT_FOUND: absent.no_row,
    ProblemCode.INDEX_NOT_FOUND: absent.no_index,
    ProblemCode.VIEW_NOT_FOUND: absent.no_view,
    ProblemCode.SNAPSHOT_NOT_FOUND: absent.no_snapshot,
    ProblemCode.TAG_NOT_FOUND: absent.no_tag,
    ProblemCode.OPERATION_NOT_FOUND: absent.no_operation,
    ProblemCode.NOT_ACCEPTABLE: refused.not_accepted,
    ProblemCode.REQUEST_TIMEOUT: refused.late,
    ProblemCode.TABLE_EXISTS: changed.table_exists,
    ProblemCode.STREAM_EXISTS: changed.stream_exists,
    ProblemCode.STREAM_NOT_STOPPED: changed.stream_not_stopped,
    ProblemCode.STREAM_NOT_RUNNING: changed.stream_not_running,
    ProblemCode.FEATURES_MISSING: stored.features_missing,
    ProblemCode.SCHEMA_MISMATCH: read.schema_mismatch,
    ProblemCode.CONFLICT: changed.conflict,
    ProblemCode.IDEMPOTENCY_CONFLICT: changed.idempotency_conflict,
    ProblemCode.SNAPSHOT_NOT_REACHED: read.not_reached,
    ProblemCode.EXPIRED: read.expired,
    ProblemCode.PRECONDITION_FAILED: changed.precondition_failed,
    ProblemCode.LIMIT_EXCEEDED: refused.too_much,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: refused.another_media_type,
    ProblemCode.HOST_REFUSED: refused.another_host,
    ProblemCode.INVALID_REQUEST: invalid,
    ProblemCode.TOO_MANY_REQUESTS: refused.many_requests,
    ProblemCode.TOO_MANY_SUBSCRIPTIONS: refused.many_subscriptions,
    ProblemCode.HEADERS_TOO_LARGE: refused.large_head,
    ProblemCode.INTERNAL_ERROR: stored.internal_error,
    ProblemCode.CORRUPT_DATA: stored.damaged,
    ProblemCode.UNSUPPORTED_FEATURE: stored.unsupported,
    ProblemCode.STORAGE_UNAVAILABLE: stored.storage_unavailable,
    ProblemCode.NOT_READY: stored.not_ready,
    ProblemCode.OVERLOADED: refused.overloaded,
}
