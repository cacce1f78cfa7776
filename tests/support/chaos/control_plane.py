"""Control plane of a chaos run over HTTP: a request is repeated while the service is away or its store fails."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import httpx

from tests.support.chaos.commits import Move, Place
from tests.support.chaos.streams import DATABASE, TABLE
from tests.support.waiting import PATIENCE_S

_PATH: Final = f"/v1/tables/{DATABASE}/{TABLE}"
_JSON: Final = {"content-type": "application/json"}
_NOT_NOW: Final = (httpx.codes.CONFLICT, httpx.codes.TOO_MANY_REQUESTS)
_CHANGED: Final = httpx.codes.PRECONDITION_FAILED
_PAUSE_S: Final = 0.5
_NONE: Final[Mapping[str, str]] = {}


class ControlPlane:
    """Requests about the table, each of which may be sent twice without another effect."""

    def __init__(self, port: int, *, keep: Callable[[], None]) -> None:
        """Prepare requests.

        Args:
            port: Of the service.
            keep: Called between two attempts: starts again what was killed.
        """
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self._keep = keep

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._http.close()

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a `PUT`; paths are below that of the table."""
        return _content(self._send("PUT", path, body))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a `POST`."""
        return _content(self._send("POST", path, body))

    def get(self, path: str) -> dict[str, Any]:
        """Send a `GET`."""
        return _content(self._send("GET", path, None))

    def runners(self) -> list[dict[str, Any]]:
        """Return the runners that have ever reported."""
        found: list[dict[str, Any]] = _content(self._send("GET", "/v1/runners", None))["runners"]
        return found

    def set_back(self, stream: str, share: float) -> list[Move]:
        """Set the position of a stream that is being stopped back to a share of what it has read.

        Returns:
            The moves, by partition.
        """
        path = f"/streams/{stream}/offsets"
        moves: list[Move] = []
        wanted: Mapping[str, int] = {}
        while True:
            shown = self._send("GET", path, None)
            offsets: Mapping[str, int] = shown.json()["offsets"]
            # An earlier request may have had its effect although its answer was lost.
            if moves and offsets == wanted:
                return moves
            wanted = {partition: int(offset * share) for partition, offset in offsets.items()}
            moves = [
                Move(place=Place(stream, int(partition)), before=before, after=wanted[partition])
                for partition, before in sorted(offsets.items())
                if before != wanted[partition]
            ]
            if not moves:
                return []
            match = {"if-match": shown.headers["etag"]}
            answer = self._attempt("PUT", path, {"offsets": wanted}, match)
            if answer is not None and answer.is_success:
                return moves
            if answer is not None and answer.status_code in (*_NOT_NOW, _CHANGED):
                moves = []

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx.Response:
        """Return the answer, once it says more than that something is under way."""
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = self._attempt(method, path, body, _NONE)
            if answer is not None and answer.is_success:
                return answer
            said = "no answer" if answer is None else f"{answer.status_code}: {answer.text}"
            assert time.monotonic() < end, f"{method} {path} {body}: {said}"

    def _attempt(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> httpx.Response | None:
        """Return an answer; None: there was none, or one that leaves open what has happened.

        Raises:
            AssertionError: The request is refused.
        """
        try:
            answer = self._http.request(
                method, _below_table(path), json=body, headers={**_JSON, **headers}
            )
        except httpx.TransportError:
            answer = None
        if answer is not None and answer.is_success:
            return answer
        is_refused = answer is not None and answer.is_client_error
        is_known = answer is not None and answer.status_code in (*_NOT_NOW, _CHANGED)
        assert not is_refused or is_known, f"{method} {path} {body}: {answer and answer.text}"
        self._keep()
        time.sleep(_PAUSE_S)
        return answer if is_known else None


def _content(answer: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = answer.json() if answer.content else {}
    return found


def _below_table(path: str) -> str:
    return path if path.startswith("/v1/") else _PATH + path
