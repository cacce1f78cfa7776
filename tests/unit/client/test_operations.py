"""The client has each route of the API: its parameters, its body and its answer."""

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from braid.client.explanation_operations import ExplanationOperations
from braid.client.maintenance_operations import MaintenanceOperations
from braid.client.operation import Operation
from braid.client.row_operations import RowOperations
from braid.client.service_operations import ServiceOperations
from braid.client.stream_operations import StreamOperations
from braid.client.table_operations import TableOperations
from braid.client.view_operations import ViewOperations
from braid.lake import MemoryFileIO
from braid.schemas.merge_patch import MEDIA_TYPE as MERGE_PATCH
from braid.service.app import create_app
from braid.service.settings import ServiceSettings

Route = tuple[str, str]
# These read the whole query themselves, because columns of the key or of an index are parameters.
KEYED = tuple(
    f"/v1/tables/{{database}}/{{table}}/{path}"
    for path in (
        "rows",
        "rows/status",
        "rows/explain",
        "rows/outcomes",
        "rows/certificate",
        "views/{view}/rows",
        "indexes/{index}/rows",
    )
)
# Answers without end, for which an operation has no form.
EVENTS = "/v1/tables/{database}/{table}/rows/events"
RESOURCES = {
    ServiceOperations: frozenset[str](),
    TableOperations: frozenset({"database", "table"}),
    MaintenanceOperations: frozenset({"database", "table"}),
    RowOperations: frozenset({"database", "table"}),
    ExplanationOperations: frozenset({"database", "table"}),
    ViewOperations: frozenset({"database", "table", "view"}),
    StreamOperations: frozenset({"database", "table", "stream"}),
}
API: dict[str, Any] = create_app(ServiceSettings(warehouse="/w"), file_io=MemoryFileIO()).openapi()
ROUTES: list[Route] = [
    (method.upper(), path)
    for path, methods in API["paths"].items()
    for method in methods
    if path != EVENTS
]


def operations() -> Iterator[tuple[Operation[..., Any], frozenset[str]]]:
    """Yield the operations of the client with the names that their resources have; of a route, the fullest one first."""
    found = [
        (one, names)
        for resource, names in RESOURCES.items()
        for one in vars(resource).values()
        if isinstance(one, Operation)
    ]
    yield from sorted(found, key=lambda each: -len(arguments_of(each[0])))


def arguments_of(one: Operation[..., Any]) -> set[str]:
    return set(inspect.signature(one.build).parameters) - {"self"}


def answer_of(one: Operation[..., Any]) -> type:
    """Return the model of an operation's answer; NoneType, if it has none."""
    (answer,) = get_args(get_type_hints(one.build)["return"])
    models: tuple[type, ...] = get_args(answer) or (answer,)
    return models[0]


def model_of(content: dict[str, Any]) -> str:
    return str(content["schema"]["$ref"]).rsplit("/", 1)[-1]


def has_body(one: Operation[..., Any], model: str) -> str | None:
    """Return the argument of an operation that is its whole body."""
    for name, hint in get_type_hints(one.build).items():
        if name != "return" and model in {
            each.__name__ for each in get_args(hint) if isinstance(each, type)
        }:
            return name
    return None


def test_the_client_has_no_operation_that_the_service_lacks() -> None:
    assert {(one.method, one.path) for one, _ in operations()} <= set(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_the_client_has_every_route_with_its_parameters_and_its_answer(route: Route) -> None:
    method, path = route
    documented = API["paths"][path][method.lower()]
    found = [(one, names) for one, names in operations() if (one.method, one.path) == route]
    assert found, f"the client has no method for {method} {path}"
    one, names = found[0]

    arguments = arguments_of(one) - {"etag"}  # what a method `…_if_changed` sends as a header
    listed = {
        parameter["name"].replace("-", "_")
        for parameter in documented.get("parameters", ())
        if parameter["name"] not in names
        and (method, parameter["name"]) != ("GET", "if-none-match")
    }
    if "requestBody" in documented:
        contents = documented["requestBody"]["content"]
        content = contents.get("application/json") or contents[MERGE_PATCH]
        if "$ref" in content["schema"]:
            model = model_of(content)
            whole = has_body(one, model)
            described = API["components"]["schemas"][model]
            listed |= {whole} if whole else set(described["properties"])
        else:
            # One of them, or a list; `?body=message` is for webhooks, which have clients of their own.
            listed = listed - {"body"} | {"records"}
    assert arguments == listed or path in KEYED

    answers = [
        content["application/json"]
        for status, answer in documented["responses"].items()
        if status.startswith("2") and (content := answer.get("content", {}))
    ]
    shared = {base.__name__ for base in answer_of(one).__mro__}
    assert {model_of(answer) for answer in answers} <= shared
    assert bool(answers) == (answer_of(one) is not type(None))
    for other, _ in found[1:]:
        assert arguments_of(other) - {"etag"} <= arguments
