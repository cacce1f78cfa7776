"""Provocations by what is stored: damaged files, files of newer versions, and storage that fails."""

import json
from typing import Any, Final

import httpx

from braid.lake import StorageUnavailable
from braid.service.limits import RequestLimits
from tests.support.table_files import paths_below
from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import TABLE, Operation
from tests.unit.service.contract.identified import ALL, guarded, token, without_keys, without_tokens
from tests.unit.service.contract.warehouse import FILES

_SCHEMA_CHANGE: Final = Operation("POST", f"{TABLE}/schema-changes")
_WITHOUT_STORAGE: Final = ("/v1", "/v1/aggregations", "/v1/clusters")
"""Operations that use storage for access tokens alone."""


def damaged(operation: Operation) -> Answered:
    """Every file of the warehouse is damaged."""
    service = Deployment()
    for path in list(paths_below(service.files)):
        service.files.overwrite(path, b"damaged")
    return answered(service.answer(operation, **_of_each_table(operation)))


def unsupported(operation: Operation) -> Answered:
    """A schema of a newer version, which an engine has written while a change of the declaration was under way."""
    return answered(_answer_with_schema(operation, version=99))


def invalid_option(operation: Operation) -> Answered:
    """A schema with an option that is not valid, which an engine has written while a change of the declaration was under way."""
    return answered(_answer_with_schema(operation, options={"bucket": "many"}))


def features_missing(operation: Operation) -> Answered:
    """A declaration, or an operation, that only a newer version can read."""
    service = Deployment()
    _edit(service, "/w/_braid/tables/", features=["time-travel"], table="of a newer version")
    _edit(service, "/w/_braid/operations/", request={"kind": "of a newer version"})
    return answered(service.answer(operation, **_of_each_table(operation)))


def storage_unavailable(operation: Operation) -> Answered:
    """Storage does not answer."""
    if operation.path in _WITHOUT_STORAGE:
        return without_tokens(operation)
    service = Deployment()
    service.fail()
    return answered(service.answer(operation))


def not_ready(operation: Operation) -> Answered:
    """Something that the operation waits for is not there: the warehouse, a runner, or the keys of an issuer."""
    if operation.of_table == "GET /streams/{stream}/dead-letters":
        service = Deployment(limits=RequestLimits(letter_wait_seconds=0.0))
        return answered(service.answer(operation, query={"limit": "1"}))
    if operation.path == "/ready":
        service = Deployment()
        service.files.delete_tree("/w")
        return answered(service.answer(operation))
    return without_keys(operation)


def internal_error(operation: Operation) -> Answered:
    """A defect, in storage or in the clock."""
    if operation.path == "/health":
        return answered(_with_defective_clock(Deployment()).answer(operation))
    if operation.path in _WITHOUT_STORAGE:
        service = guarded()
        headers = token(service, ALL, expires_ms=2**50)
        return answered(_with_defective_clock(service).answer(operation, headers=headers))
    service = Deployment()
    service.fail(RuntimeError("a defect"))
    return answered(service.answer(operation))


def _answer_with_schema(operation: Operation, **fields: Any) -> httpx.Response:
    """Return the answer while the newest schema has other fields, and a process has ended amid a change of the declaration."""
    service = Deployment()
    schema = f"{FILES}/schema/schema-"

    def lose_storage(path: str) -> None:
        raise StorageUnavailable(path)

    service.before_call("create_exclusive", schema, lose_storage)
    service.answer(_SCHEMA_CHANGE)
    service.recover()
    newest = json.loads(service.files.read_bytes(f"{schema}0"))
    service.files.write_new(f"{schema}1", json.dumps(newest | {"id": 1} | fields).encode())
    if operation.of_table in ("DELETE ", "POST /rollback"):
        names, query = {"table": "orders"}, {"confirm": "shop.orders"}
        return service.answer(operation, names=names, query=query)
    return service.answer(operation, **_of_each_table(operation))


def _of_each_table(operation: Operation) -> dict[str, Any]:
    """Return what lets a verb for many streams read the declarations of tables."""
    return {"body": {"tables": ["shop.*"]}} if operation.path.startswith("/v1/streams:") else {}


def _edit(service: Deployment, directory: str, **fields: Any) -> None:
    """Set fields of each JSON file below a directory."""
    for path in list(paths_below(service.files, directory.rstrip("/"))):
        content = json.loads(service.files.read_bytes(path))
        service.files.overwrite(path, json.dumps(content | fields).encode())


def _with_defective_clock(service: Deployment) -> Deployment:
    service.clock.is_defective = True
    return service
