"""An attack on a service process with hostile requests, many at once, and the memory of the process meanwhile."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import httpx

from braid.service.problems.problem_table import STATUS_AND_TITLE
from tests.support.hostile_requests import HostileRequest, hostile_requests

WARM_UP = 1_000  # requests until everything that is loaded or cached once is
AT_ONCE = 8
SLOW_SECONDS = 30.0
_CODES = {code.value: status for code, (status, _) in STATUS_AND_TITLE.items()}
_ORDERS = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "total", "type": "INT"}],
    "primary_key": ["id"],
    "buckets": 1,
    "sequence_groups": [{"name": "sales", "columns": ["total"]}],
}


class HostileResults:
    """The results of the requests.

    Attributes:
        statuses: Counts of the answers by status.
        faults: Counts of answers that are not documented problems, and of other errors.
        memory: Bytes of the service, from the end of the warm-up on.
    """

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.memory: list[int] = []
        self._reported = 0

    def progress_line(self) -> str:
        """Return a line about the results since the last line."""
        memory, self._reported = self.memory[self._reported :], len(self.memory)
        least, most, last = min(memory) / 1e6, max(memory) / 1e6, memory[-1] / 1e6
        answers = sum(self.statuses.values())
        return f"{answers} answers; memory {least:.0f} to {most:.0f} MB, at the end {last:.0f} MB"


async def send_hostile_requests(
    port: int, process_id: int, found: HostileResults, *, seed: int, count: int
) -> None:
    """Send requests to a service at a port of this machine, and add to the results.

    Args:
        port: The port.
        process_id: The service's process, whose memory is measured every 500 requests.
        found: The results.
        seed: The seed of the requests.
        count: Their number.
    """
    slow = set[asyncio.Task[None]]()
    requests = hostile_requests(seed, count)
    sent = 0

    async def send_all(client: httpx.AsyncClient) -> None:
        nonlocal sent
        for request in requests:
            sent += 1
            if sent % 500 == 0 and (found.memory or sent >= WARM_UP):
                found.memory.append(_resident_bytes(process_id))
            if request.is_slow:
                slow.add(asyncio.create_task(_send_slowly(port, request, found)))
            else:
                await _send(client, request, found)

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        headers = {"content-type": "application/json"}
        await client.put("/v1/tables/shop/orders", json=_ORDERS, headers=headers)
        await asyncio.gather(*(send_all(client) for _ in range(AT_ONCE)))
    await asyncio.gather(*slow)
    found.memory.append(_resident_bytes(process_id))


async def _send(client: httpx.AsyncClient, request: HostileRequest, found: HostileResults) -> None:
    url = httpx.URL(f"{client.base_url}".rstrip("/") + request.target)
    try:
        answer = await client.request(
            request.method, url, headers=dict(request.headers), content=request.body
        )
    except (httpx.TransportError, httpx.InvalidURL) as error:
        found.faults[f"{request.kind}: {type(error).__name__}"] += 1
        return
    found.statuses[answer.status_code] += 1
    fault = _fault(answer, request.method)
    if fault is not None:
        found.faults[f"{request.kind}: {request.method} {request.target[:80]}: {fault}"] += 1


def _fault(answer: httpx.Response, method: str) -> str | None:
    if answer.is_success or (method == "HEAD" and not answer.is_server_error):
        return None
    if answer.headers.get("content-type") != "application/problem+json":
        return f"{answer.status_code} is not a problem document"
    code = json.loads(answer.content)["code"]
    is_busy = (
        code == "overloaded"
    )  # documented and provoked: more requests at once than are admitted
    if _CODES.get(code) != answer.status_code or (answer.is_server_error and not is_busy):
        return f"{answer.status_code} {code}"
    return None


async def _send_slowly(port: int, request: HostileRequest, found: HostileResults) -> None:
    """Send a part of a request, and wait for the service's answer."""
    head = f"{request.method} {request.target} HTTP/1.1\r\nhost: localhost\r\n"
    head += "content-type: application/json\r\n"
    full = f"{head}content-length: {len(request.body)}\r\n\r\n".encode() + request.body
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(full[: len(full) * 2 // 3])
        answer = await asyncio.wait_for(reader.read(), SLOW_SECONDS)
        status = int(answer.split(b" ", 2)[1]) if answer else 0
        found.statuses[status] += 1
        if status != 408:
            found.faults[f"slow: {status}"] += 1
    except (OSError, TimeoutError) as error:
        found.faults[f"slow: {type(error).__name__}"] += 1
    finally:
        writer.close()


def _resident_bytes(process_id: int) -> int:
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * 4096
