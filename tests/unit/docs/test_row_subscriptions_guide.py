"""The events of the guide to row subscriptions are those of a real subscription; its client runs in the integration tests."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT
from tests.support.server_sent_events import Event, events_of
from tests.unit.service.subscription.subscriber import subscribed

GUIDE = (ROOT / "docs" / "guides" / "row-subscriptions.md").read_text(encoding="utf-8")
START = datetime(2026, 2, 2, 10, tzinfo=UTC)
_CUT = "…"


def test_the_events_of_the_page_are_sent() -> None:
    block = re.search(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    assert block is not None
    documented = list(events_of(block.group(1).split("\n")))
    cursors = [event.data["cursor"] for event in documented if event.event == "snapshot"]
    assert all(cursor.endswith(_CUT) for cursor in cursors)

    assert [cut(event) for event in asyncio.run(sent())] == documented


async def sent() -> list[Event]:
    file_io = MemoryFileIO()
    clock = ManualClock(start_ms=int(START.timestamp()) * 1_000)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    app = create_app(
        ServiceSettings(warehouse="/w", follow_ms=5), catalog=catalog, file_io=file_io, clock=clock
    )
    parcels = catalog.create_table(
        "shop.parcels",
        columns=[("id", "BIGINT"), ("paid", "DOUBLE"), ("city", "STRING")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    parcels.write_and_commit(pa.table({"id": [7], "paid": [12.5], "city": ["Ulm"]}))
    async with subscribed(app, "shop.parcels", initial="true") as take:
        events = await take(1)
        both = {"id": [7, 8], "paid": [13.0, 3.0], "city": ["Ulm", "Graz"]}
        parcels.write_and_commit(pa.table(both))
        events += await take(2)
        gone = pa.table({"id": [8], "paid": [3.0], "city": ["Graz"]})
        parcels.write_and_commit(gone, kinds=pa.array([3], pa.int8()))
        events += await take(3)
    app.state.components.followers.close()
    return events


def cut(event: Event) -> Event:
    """Return an event with the cut cursor of the page."""
    width = len("WyJzaG9wLnBhcmNlbHMiLDEs")

    def short(text: str) -> str:
        return text[:width] + _CUT

    data: dict[str, Any] = dict(event.data)
    if "cursor" in data:
        data["cursor"] = short(data["cursor"])
    return Event(event=event.event, id=None if event.id is None else short(event.id), data=data)
