"""A service process under requests with broken, forged and huge credentials: nothing passes, and memory stays flat."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx
import pytest

from braid.client import BraidError, Client, ClientSettings
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.lake import FileIO, SystemClock, file_io_for
from braid.registry.store.access_tokens import AccessTokens, random_text, token_of
from tests.support.hostile.credentials import HostileCredentials, Owned, hostile_credentials
from tests.support.soaking import soak
from tests.support.waiting import PATIENCE_S
from tests.unit.client.conftest import PARCELS
from tests.unit.service.access.guarded import bearer, grant_of
from tests.unit.service.access.issued import FILE, public_entry, rsa_key

GROWTH_MAX = 0.10
"""Part by which the memory may grow after the warm-up."""

_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, 431})
_SENDERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """A service with a table, and what attackers have."""

    address: str
    process_id: int
    admin: str
    owned: Owned

    def memory(self) -> int:
        """Return its resident bytes."""
        statm = Path(f"/proc/{self.process_id}/statm").read_text(encoding="ascii")
        return int(statm.split()[1]) * 4096


@contextmanager
def attacked(folder: Path) -> Iterator[Attacked]:
    """Start a service, which ends with the block."""
    warehouse, issuers, key, port = folder / "w", folder / "issuers.toml", rsa_key(), free_port()
    warehouse.mkdir()
    issuers.write_text(FILE)
    (folder / "keys.json").write_text(json.dumps({"keys": [public_entry(key, "one")]}))
    clock, file_io = SystemClock(), file_io_for(str(warehouse))
    now_s = clock.now_ms() // 1_000
    admin = _token(file_io, str(warehouse), "ops", "admin:*")
    owned = Owned(
        foreign=_token(file_io, str(warehouse), "foreign", "admin:crm.*"),
        revoked=_token(file_io, str(warehouse), "revoked", "admin:*"),
        expired=_token(file_io, str(warehouse), "expired", "admin:*", lifetime_ms=1),
        key=key,
        claims={
            "iss": "https://login.example",
            "aud": "braid",
            "sub": "mallory",
            "exp": now_s + 86_400,
            "groups": ["analysts"],
            "realm_access": {"roles": []},
        },
    )
    AccessTokens(file_io, str(warehouse), clock).revoke("revoked")
    with Supervisor(folder / "logs") as supervisor:
        process = supervisor.start_module(
            "service", "braid", "service", "--warehouse", str(warehouse), "--port", str(port),
            "--issuers", str(issuers),
        )  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        with Client(address, settings=ClientSettings(token=admin)) as client:

            def is_ready() -> bool:
                try:
                    return client.ready().status == "ready"
                except BraidError:
                    return False

            process.wait_ready(is_ready, timeout_s=PATIENCE_S)
            client.table("shop.orders").put(PARCELS)
        yield Attacked(address=address, process_id=process.process_id, admin=admin, owned=owned)


def _token(
    file_io: FileIO, warehouse: str, name: str, grant: str, *, lifetime_ms: int | None = None
) -> str:
    clock = SystemClock()
    now_ms = clock.now_ms()
    expires_ms = None if lifetime_ms is None else now_ms + lifetime_ms
    text = random_text()
    token = token_of(text, name, [grant_of(grant)], now_ms=now_ms, expires_ms=expires_ms)
    AccessTokens(file_io, warehouse, clock).add(token)
    return text


async def send(
    service: Attacked, requests: Iterator[HostileCredentials], answers: Counter[tuple[str, int]]
) -> None:
    """Send requests, several at once, and count the answers by kind and status."""
    json_type = (b"content-type", b"application/json")

    async def send_all(client: httpx.AsyncClient) -> None:
        for one in requests:
            answer = await client.request(
                one.method,
                one.target,
                headers=[json_type, *one.headers],
                content=b"{}" if one.method != "GET" else None,
            )
            answers[one.kind, answer.status_code] += 1

    async with (
        httpx.AsyncClient(base_url=service.address, timeout=60) as client,
        asyncio.TaskGroup() as senders,
    ):
        for _ in range(_SENDERS):
            senders.create_task(send_all(client))


def check(folder: Path, *, warm_up: int, count: int, seed: int) -> None:
    """Attack a new service, and check its answers, its memory, and that it still serves.

    Args:
        folder: An empty folder.
        warm_up: Requests before the memory is measured.
        count: Those after that.
        seed: What is drawn.
    """
    answers: Counter[tuple[str, int]] = Counter()
    with attacked(folder) as service:
        asyncio.run(send(service, hostile_credentials(service.owned, seed, warm_up), answers))
        before = service.memory()
        attack = hostile_credentials(service.owned, seed + 1, count)
        asyncio.run(send(service, attack, answers))
        growth = service.memory() / before - 1
        served = httpx.get(f"{service.address}/v1/tables", headers=bearer(service.admin))
    print(f"{before / 1e6:.0f} MB, then {growth:+.1%}; {answers.total()} requests")
    assert {kind: n for (kind, status), n in answers.items() if status not in _REFUSED} == {}
    assert {status for _, status in answers} == _REFUSED
    assert [table["name"] for table in served.json()["tables"]] == ["orders"]
    assert growth <= GROWTH_MAX


@pytest.mark.integration
def test_hostile_credentials_open_nothing(tmp_path: Path) -> None:
    check(tmp_path, warm_up=500, count=1_500, seed=1)


@pytest.mark.soak
def test_ten_thousand_hostile_credentials_open_nothing(tmp_path: Path) -> None:
    def turn(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        check(folder, warm_up=2_000, count=10_000, seed=number)

    soak(turn)
