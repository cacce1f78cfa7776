"""Provocations by requests that break rules."""

from typing import Any, Final

from braid.service.guard.request_class import is_remembered
from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import Operation, operations
from tests.unit.service.contract.stored import invalid_option
from tests.unit.service.contract.valid_requests import request_for

_WRONG: Final[dict[str, dict[str, Any]]] = {
    "DELETE ": {"query": {"confirm": "another"}},
    "DELETE /consumers/{consumer}": {"query": {"confirm": "another"}},
    "GET /changes": {"query": {"after_snapshot_id": "-1"}},
    "GET /completeness": {"query": {"snapshot_id": "0"}},
    "GET /history": {"query": {"minutes": "0"}},
    "GET /inspect/{view}": {"names": {"view": "no_such"}},
    "GET /snapshots/{snapshot}": {"names": {"snapshot": "0"}},
    "GET /indexes/{index}/rows": {"query": {"no_such": "1"}},
    "GET /streams/{stream}/dead-letters": {"query": {"limit": "-1"}},
    **{
        f"{method} /v1/runners/{{runner}}/drain": {"names": {"runner": ".x"}}
        for method in ("GET", "PUT", "DELETE")
    },
    "POST /validate-patch": {"body": []},
    "POST /streams/{stream}/validate-patch": {"body": []},
    "POST /validate-delete": {"query": {"keep_data": "perhaps"}},
    "POST /streams/{stream}/{verb}/validate": {"names": {"verb": "no_such"}},
}
"""By operation, what breaks a rule; of others it follows from what they take."""


def invalid(operation: Operation) -> Answered:
    """A field, parameter, condition or key of the request that is not as declared; without any, an option of the table."""
    service = Deployment()
    if operation.of_table in _WRONG:
        return answered(service.answer(operation, **_WRONG[operation.of_table]))
    if request_for(operation).body is not None:
        return answered(service.answer(operation, body={"no_such": 1}))
    if is_remembered(operation.method, operation.path):
        return answered(service.answer(operation, headers={"idempotency-key": ""}))
    if _takes(operation, "if-match"):
        return answered(service.answer(operation, headers={"if-match": "no tag"}))
    if "/rows" in operation.path:
        return answered(service.answer(operation, query={"id": "no number"}))
    if _takes(operation, "page_size"):
        return answered(service.answer(operation, query={"page_size": "0"}))
    return invalid_option(operation)


def _takes(operation: Operation, parameter: str) -> bool:
    """Return whether an operation has a parameter in its query or its headers."""
    return parameter in {one["name"] for one in operations()[operation].get("parameters", ())}
