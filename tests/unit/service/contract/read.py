"""Provocations of reads: values that do not fit, states that are not there yet, and states that expire while they are read."""

from typing import Any, Final

from braid.lake import Catalog, Table, UpdateColumnType, parse_type
from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import Operation
from tests.unit.service.contract.valid_requests import request_for
from tests.unit.service.contract.warehouse import FILES

_MOMENTS: Final = {
    "PUT /tags/{tag}": ("create_exclusive", "/w/_braid/audit/"),
    "GET /inspect/{view}": ("read_bytes", f"{FILES}/manifest/"),
    "GET /maintenance": ("read_bytes", f"{FILES}/manifest/"),
}
"""The call of storage before which the snapshot expires; of all other operations the first one for rows."""


def schema_mismatch(operation: Operation) -> Answered:
    """Another engine has given columns of text the type INT, and the values of older files are no numbers."""
    service = Deployment()
    # The first is a column of rows, the second one of their status.
    changes = [UpdateColumnType(path=(name,), type=parse_type("INT")) for name in _TEXTS]
    _of_another_process(service).alter(*changes)
    query = {"carrier": "7"} if "{index}" in operation.path else {}
    return answered(service.answer(operation, **_from_the_first_snapshot(operation, **query)))


def not_reached(operation: Operation) -> Answered:
    """A snapshot that does not come."""
    if operation.method == "GET":
        return answered(Deployment().answer(operation, query={"min_snapshot": "99"}))
    body = request_for(operation).body | {"min_snapshot": 99}
    return answered(Deployment().answer(operation, body=body))


def expired(operation: Operation) -> Answered:
    """The snapshot expires, and its files are deleted, while it is read."""
    service = Deployment()
    method, path = _MOMENTS.get(operation.of_table, ("open_input", f"{FILES}/bucket-"))
    service.before_call(method, path, lambda _: _expire(_of_another_process(service)))
    changed = _from_the_first_snapshot(operation)
    if operation.of_table == "GET /inspect/{view}":
        changed = {"names": {"view": "files"}, "query": {"snapshot_id": "7"}}
    if operation.of_table == "PUT /tags/{tag}":
        changed = {"names": {"tag": "late"}}
    return answered(service.answer(operation, **changed))


_TEXTS: Final = ("carrier", "version")


def _of_another_process(service: Deployment) -> Table:
    """Return the table as another process has it, without the faults of the service's storage."""
    return Catalog("/w", file_io=service.files, clock=service.clock).table("shop.orders")


def _expire(table: Table) -> None:
    """Compact a table, and remove all older snapshots with their files."""
    for consumer in table.consumers():
        if not consumer.is_lease:
            table.delete_consumer(consumer.id)
    table.compact()
    table.expire(retain_min=1, retain_max=1, older_than_ms=0)


def _from_the_first_snapshot(operation: Operation, **query: str) -> dict[str, Any]:
    """Return what lets a subscription send rows at once."""
    if not operation.path.endswith("/rows/events"):
        return {"query": query}
    if operation.method == "POST":
        return {"body": request_for(operation).body | {"from": 1}}
    return {"query": {"from": "1"}}
