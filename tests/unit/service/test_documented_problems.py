"""The OpenAPI document lists the problems of each operation.

`http_client` compares them with the answers of all tests, and `contract` provokes each of them.
"""

from typing import Any

import pytest

from braid.lake import MemoryFileIO
from braid.schemas import ProblemCode
from braid.service.app import create_app
from braid.service.documented_problems import IMPOSSIBLE, OF_OPERATION, TABLE
from braid.service.settings import ServiceSettings


@pytest.fixture(scope="module")
def paths() -> dict[str, dict[str, Any]]:
    app = create_app(ServiceSettings(warehouse="/w"), file_io=MemoryFileIO())
    found: dict[str, dict[str, Any]] = app.openapi()["paths"]
    return found


def test_operations_with_problems_of_their_own_exist(paths: dict[str, dict[str, Any]]) -> None:
    operations = {
        (method.upper(), path.removeprefix(TABLE))
        for path, methods in paths.items()
        for method in methods
    }

    assert OF_OPERATION.keys() | IMPOSSIBLE.keys() <= operations


def test_every_problem_is_one_of_some_operation(paths: dict[str, dict[str, Any]]) -> None:
    documented = {
        code
        for operations in paths.values()
        for operation in operations.values()
        for response in operation["responses"].values()
        for code in ProblemCode
        if f"`{code.value}`" in response["description"]
    }

    assert set(ProblemCode) - documented == {ProblemCode.METHOD_NOT_ALLOWED}
