"""Provocations by other changes: earlier ones, those of other processes, and those that are made at the same moment."""

from typing import Any, Final

from braid.lake import Catalog
from braid.registry.store.leases import LeaseStore
from braid.service.guard.request_class import is_remembered
from braid.service.limits import RequestLimits
from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import TABLE, Operation
from tests.unit.service.contract.warehouse import DECLARATION, OPEN, RUNNING, STOPPED, STREAMS

_REQUESTS: Final = "/w/_braid/requests/"
_ALL_DOCUMENTS: Final = "/w/_braid/tables/"
_ASSIGNMENT: Final = "/w/_braid/assignment/"
_AUDIT: Final = "/w/_braid/audit/"
_KEY: Final = {"idempotency-key": "once"}
_STREAM: Final = f"{TABLE}/streams/{{stream}}"
_REPLAY: Final = Operation("POST", f"{_STREAM}/dead-letters/replay")
_CHANGE: Final[dict[str, dict[str, Any]]] = {
    "PUT /v1/runners/{runner}/drain": {"names": {"runner": "another"}},
    "PUT ": {"body": DECLARATION | {"owner": "shop"}},
    f"PUT {_STREAM.removeprefix(TABLE)}": {
        "body": STREAMS[RUNNING] | {"max_bytes_per_batch": 1_000_000}
    },
}
"""Requests that change something, where the valid one does not."""


def conflict(operation: Operation) -> Answered:
    """A change that another process makes at the same moment, or has made before."""
    if is_remembered(operation.method, operation.path):
        return _carried_out_elsewhere(operation)
    match operation.of_table:
        case "DELETE /v1/operations/{operation}":
            return answered(Deployment().answer(operation, names={"operation": OPEN}))
        case "POST /streams/{stream}/dead-letters/replay/validate":
            return answered(_replaying().answer(operation, body={"reasons": ["malformed"]}))
        case "PUT /streams/{stream}/offsets":
            return _claimed_meanwhile(operation)
        case "DELETE /streams/{stream}/dead-letters/replay":
            service = _replaying()
        case _:
            service = Deployment()

    def overtake(path: str) -> None:
        directory = path.rpartition("/")[0]
        newest = max(one.path for one in service.files.list(directory))
        service.files.write_new(path, service.files.read_bytes(newest))

    is_of_runner = operation.path.startswith("/v1/runners/")
    documents = _ASSIGNMENT if is_of_runner else _ALL_DOCUMENTS
    service.before_call("create_exclusive", documents, overtake, nth=0)
    return answered(service.answer(operation, **_CHANGE.get(operation.of_table, {})))


def idempotency_conflict(operation: Operation) -> Answered:
    """Another request with the key of a request that was carried out."""
    service = Deployment()
    service.answer(operation, headers=_KEY).raise_for_status()
    other: dict[str, Any] = {"query": {"other": "1"}}
    if not is_remembered(operation.method, operation.path):  # the producer compares bodies
        other = {"body": {"value": {"id": 8, "version": "c"}}}
    return answered(service.answer(operation, headers=_KEY, **other))


def precondition_failed(operation: Operation) -> Answered:
    """A condition on a version that there never was."""
    return answered(Deployment().answer(operation, headers={"if-match": '"other"'}))


def table_exists(operation: Operation) -> Answered:
    """Another number of buckets, which a declaration cannot change."""
    body = {"buckets": 3}
    whole = body if operation.method == "PATCH" else DECLARATION | body
    return answered(Deployment().answer(operation, body=whole))


def stream_exists(operation: Operation) -> Answered:
    """Another topic, while the table has offsets of the present one."""
    body = {"topic": "returns"}
    whole = body if operation.method == "PATCH" else STREAMS[RUNNING] | body
    return answered(Deployment().answer(operation, body=whole))


def stream_not_stopped(operation: Operation) -> Answered:
    """A stream that is to run, or that a runner still holds."""
    service = Deployment()
    if operation.of_table != "PUT /streams/{stream}":
        names = {"table": "orders", "stream": RUNNING}
        query = {} if "{stream}" in operation.path else {"confirm": "shop.orders"}
        return answered(service.answer(operation, names=names, query=query))
    # Another stream takes over the group of a deleted one.
    service.answer(Operation("DELETE", _STREAM)).raise_for_status()
    LeaseStore(service.files, "/w", service.clock).acquire("shop.orders", STOPPED, "runner", 60_000)
    return answered(service.answer(operation, names={"stream": "successor"}, body=STREAMS[STOPPED]))


def stream_not_running(operation: Operation) -> Answered:
    """A stream that is stopped."""
    return answered(Deployment().answer(operation, names={"stream": STOPPED}))


def _replaying() -> Deployment:
    """Return a service with a replay under way."""
    service = Deployment()
    service.answer(_REPLAY).raise_for_status()
    return service


def _carried_out_elsewhere(operation: Operation) -> Answered:
    """Return the answer to a request whose first attempt lost storage after its claim, and so has left it."""
    service = Deployment(limits=RequestLimits(repeat_wait_seconds=0.0))

    def claimed(_: int, method: str, path: str) -> None:
        if method == "create_exclusive" and path.startswith(_REQUESTS):
            service.fail()

    service.storage.after = claimed
    service.answer(operation, headers=_KEY)
    service.recover()
    return answered(service.answer(operation, headers=_KEY))


def _claimed_meanwhile(operation: Operation) -> Answered:
    """Return the answer to a move of a stream that is started between its checks and its commit."""
    service = Deployment()
    other = Catalog("/w", file_io=service.files, clock=service.clock).table("shop.orders")

    def claim(_: str) -> None:
        other.committer().claim_stream(
            STOPPED, topic=STOPPED, topic_id=STOPPED, initial_offsets={0: 0, 1: 0}
        )

    service.before_call("create_exclusive", _AUDIT, claim)
    return answered(service.answer(operation))
