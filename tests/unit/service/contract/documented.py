"""Operations of the service, and the problems that its OpenAPI document lists for each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from braid.lake import MemoryFileIO
from braid.schemas import ProblemCode
from braid.service.app import create_app
from braid.service.settings import ServiceSettings

TABLE: Final = "/v1/tables/{database}/{table}"
_CODE: Final = re.compile(r"`(\w+)`")


@dataclass(frozen=True, slots=True, order=True)
class Operation:
    """A method of an address, with the names of its parameters."""

    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path.removeprefix('/v1').replace('/tables/{database}', '')}"

    @property
    def of_table(self) -> str:
        """The method and what follows the table in the address, such as `GET /rows`."""
        return f"{self.method} {self.path.removeprefix(TABLE)}"


@cache
def operations() -> dict[Operation, dict[str, Any]]:
    """Return each operation with what the document says of it."""
    app = create_app(ServiceSettings(warehouse="/w"), file_io=MemoryFileIO())
    return {
        Operation(method.upper(), path): operation
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
    }


def documented_problems() -> Sequence[tuple[Operation, int, ProblemCode]]:
    """Return each problem of each operation with its status, sorted by code."""
    found = [
        (operation, int(status), ProblemCode(code))
        for operation, described in operations().items()
        for status, answer in described["responses"].items()
        if status >= "400"
        for code in _CODE.findall(answer["description"])
    ]
    return sorted(found, key=lambda one: (one[2], one[0]))
