"""Provocations by names of what is not there, or is not there any more."""

from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import TABLE, Operation
from tests.unit.service.contract.warehouse import DOCUMENTS, STOPPED, warehouse

_NO = "no_such"
# More parts than any address has: the route of no other operation is found.
_PARTS = "a%2Fb%2Fc%2Fd%2Fe%2Ff%2Fg"


def address_without_route(operation: Operation) -> Answered:
    """A name with slashes, which are parts of the address once it is decoded."""
    name = "operation" if "{operation}" in operation.path else "table"
    return answered(Deployment().answer(operation, names={name: _PARTS}))


def no_table(operation: Operation) -> Answered:
    """A name of no table; where such a name is that of a new table, one that was dropped meanwhile."""
    service = Deployment()
    if operation.of_table == "PUT ":
        service.before_call("list", DOCUMENTS, service.files.delete_tree, nth=2)
        return answered(service.answer(operation))
    if (
        operation.of_table == "GET /audit"
    ):  # the entries of a dropped table stay, so any name may have some
        return answered(service.answer(operation, names={"table": "no-such"}))
    if operation.of_table in ("DELETE ", "POST /rollback"):
        query = {"confirm": f"shop.{_NO}"}
        return answered(service.answer(operation, names={"table": _NO}, query=query))
    return answered(service.answer(operation, names={"table": _NO}))


def no_stream(operation: Operation) -> Answered:
    """A name of no stream."""
    service = Deployment()
    if operation.of_table == "POST /rows/explain":
        body = {"key": {"id": 7}, "without": {"stream": _NO}}
        return answered(service.answer(operation, body=body))
    if operation.of_table == "GET /rows/outcomes":
        deletion = Operation("DELETE", f"{TABLE}/streams/{{stream}}")
        service.answer(deletion, names={"stream": STOPPED}).raise_for_status()
        after = {"read_after": warehouse().read_after[STOPPED]}
        return answered(service.answer(operation, query=after))
    return answered(service.answer(operation, names={"stream": _NO}))


def no_row(operation: Operation) -> Answered:
    """A key without a row."""
    return answered(Deployment().answer(operation, query={"id": "99"}))


def no_index(operation: Operation) -> Answered:
    """A name of no lookup index."""
    return answered(Deployment().answer(operation, names={"index": _NO}))


def no_view(operation: Operation) -> Answered:
    """A name of no feature view."""
    return answered(Deployment().answer(operation, names={"view": _NO}))


def no_tag(operation: Operation) -> Answered:
    """A name of no tag."""
    if operation.method == "POST":
        return answered(Deployment().answer(operation, body={"tag": _NO}))
    return answered(Deployment().answer(operation, names={"tag": _NO}))


def no_snapshot(operation: Operation) -> Answered:
    """An id of no snapshot."""
    if operation.method == "POST":
        return answered(Deployment().answer(operation, body={"snapshot_id": 999}))
    return answered(Deployment().answer(operation, names={"snapshot": "999"}))


def no_operation(operation: Operation) -> Answered:
    """An id of no operation."""
    return answered(Deployment().answer(operation, names={"operation": "shop.orders." + "9" * 20}))
