"""A request for each operation that succeeds in the warehouse of the tests, and changes of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from braid.schemas.merge_patch import MEDIA_TYPE as MERGE_PATCH
from tests.unit.service.contract.documented import Operation
from tests.unit.service.contract.warehouse import (
    DECLARATION,
    DRAINED,
    FINISHED,
    RUNNING,
    STOPPED,
    STREAMS,
    warehouse,
)

_NAMES: Final[Mapping[str, str]] = {
    "database": "shop",
    "table": "orders",
    "stream": RUNNING,
    "operation": FINISHED,
    "runner": DRAINED,
    "verb": "restart",
    "consumer": "reader",
    "index": "by_carrier",
    "snapshot": "2",
    "tag": "kept",
    "view": "seen",
}
_STREAM: Final = "/streams/{stream}"
_STOPPED: Final = {"stream": STOPPED}
_IDLE: Final = {"table": "returns"}
_PATCH: Final = {"content-type": MERGE_PATCH}
_ROW: Final = {"id": "7"}
_KEYS: Final = {"keys": [{"id": 7}]}
_SELECTED: Final = {"streams": ["shop.orders.sales"]}
_CHANGES: Final = {
    "changes": [{"change": "set_option", "key": "snapshot.num-retained.min", "value": "5"}]
}
_DECLARED: Final = {"declarations": [{"kind": "Table", "name": "shop.orders", "spec": DECLARATION}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidRequest:
    """A request.

    Attributes:
        names: The names in the address.
        query: The parameters behind the address.
        body: The body, as JSON; None: none.
        headers: The headers.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def changed(
        self,
        *,
        names: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        **body: Any,
    ) -> "ValidRequest":
        """Return the request with some names, parameters and headers more, and with another `body` if that is given."""
        return replace(
            self,
            names={**self.names, **(names or {})},
            query={**self.query, **(query or {})},
            headers={**self.headers, **(headers or {})},
            **body,
        )

    def address(self, operation: Operation) -> str:
        """Return the address of the request, without its parameters."""
        names = {**_NAMES, **self.names}
        return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], operation.path)

    @property
    def options(self) -> dict[str, Any]:
        """The other parts as arguments of the client."""
        options: dict[str, Any] = {"headers": self.headers}
        if self.query:
            options["params"] = self.query
        if isinstance(self.body, bytes):
            options["content"] = self.body
        elif self.body is not None:
            options["json"] = self.body
        return options


@cache
def _of_table() -> dict[str, ValidRequest]:
    """Return the requests of operations of a table that take more than their address."""
    after = {"read_after": warehouse().read_after[RUNNING]}
    view, offsets = "/views/{view}", {"offsets": {"0": 0}}
    return {
        "PUT ": ValidRequest(body=DECLARATION),
        "PATCH ": ValidRequest(body={"owner": "shop"}),
        "DELETE ": ValidRequest(names=_IDLE, query={"confirm": "shop.returns"}),
        "POST /validate": ValidRequest(body=DECLARATION),
        "POST /validate-patch": ValidRequest(body={"owner": "shop"}, headers=_PATCH),
        "POST :test": ValidRequest(body={}),
        "POST /schema-changes": ValidRequest(body=_CHANGES),
        "POST /schema-changes/validate": ValidRequest(body=_CHANGES),
        "GET /changes": ValidRequest(query={"after_snapshot_id": "0"}),
        "PUT /consumers/{consumer}": ValidRequest(
            body={"next_snapshot_id": 3}, query={"confirm": "reader"}
        ),
        "DELETE /consumers/{consumer}": ValidRequest(query={"confirm": "reader"}),
        "PUT /tags/{tag}": ValidRequest(body={}),
        "POST /compactions": ValidRequest(body={}),
        "POST /snapshots/expire": ValidRequest(body={}),
        "POST /orphan-files/clean": ValidRequest(body={}),
        "POST /rescale": ValidRequest(body={"buckets": 2}),
        "POST /rollback": ValidRequest(
            names=_IDLE, body={"tag": "kept"}, query={"confirm": "shop.returns"}
        ),
        "POST /rollback/validate": ValidRequest(body={"tag": "kept"}),
        "GET /inspect/{view}": ValidRequest(names={"view": "snapshots"}),
        "GET /rows": ValidRequest(query=_ROW),
        "GET /rows/status": ValidRequest(query=_ROW),
        "GET /rows/explain": ValidRequest(query=_ROW),
        "GET /rows/certificate": ValidRequest(query=_ROW),
        "GET /rows/outcomes": ValidRequest(query={**_ROW, **after}),
        "GET /rows/events": ValidRequest(query=_ROW),
        "POST /rows/lookup": ValidRequest(body=_KEYS),
        "POST /rows/scan": ValidRequest(body={}),
        "POST /rows/explain": ValidRequest(body={"key": {"id": 7}, "without": {"stream": RUNNING}}),
        "POST /rows/events": ValidRequest(body=_KEYS),
        f"GET {view}/rows": ValidRequest(query=_ROW),
        f"POST {view}/lookup": ValidRequest(body=_KEYS),
        "GET /indexes/{index}/rows": ValidRequest(query={"carrier": "ACME"}),
        f"PUT {_STREAM}": ValidRequest(body=STREAMS[RUNNING]),
        f"PATCH {_STREAM}": ValidRequest(body={"max_bytes_per_batch": 1_000_000}),
        f"DELETE {_STREAM}": ValidRequest(names=_STOPPED),
        f"POST {_STREAM}/validate": ValidRequest(body=STREAMS[RUNNING]),
        f"POST {_STREAM}/validate-patch": ValidRequest(
            body={"max_bytes_per_batch": 1_000_000}, headers=_PATCH
        ),
        f"GET {_STREAM}/dead-letters": ValidRequest(query={"limit": "0"}),
        f"POST {_STREAM}/validate-delete": ValidRequest(names=_STOPPED),
        f"PUT {_STREAM}/offsets": ValidRequest(names=_STOPPED, body=offsets),
        f"POST {_STREAM}/offsets/validate": ValidRequest(names=_STOPPED, body=offsets),
        f"POST {_STREAM}/records": ValidRequest(body={"value": {"id": 7, "version": "b"}}),
        f"POST {_STREAM}/dead-letters/replay": ValidRequest(body={}),
        f"POST {_STREAM}/dead-letters/replay/validate": ValidRequest(body={}),
    }


def request_for(operation: Operation) -> ValidRequest:
    """Return a request for an operation that succeeds."""
    if operation.method == "POST" and operation.path.startswith("/v1/streams:"):
        return ValidRequest(body=_SELECTED)
    if operation.method == "POST" and operation.path.startswith("/v1/declarations:"):
        return ValidRequest(body=_DECLARED)
    return _of_table().get(operation.of_table, ValidRequest())
