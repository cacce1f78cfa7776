"""Every trigger of the guide can be declared, and means what the guide says of it."""

import re
from pathlib import Path
from typing import Final

import orjson
import pytest

from braid.registry.rules.stream_bounds import BOUNDS, check_trigger
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamState
from tests.unit.registry.shop import definition, orders

GUIDE: Final = Path("docs/guides/stream-triggers.md").read_text(encoding="utf-8")
ROWS: Final = re.findall(r"^\| `(\{.*?\})` \| (.*?) \| (.*?) \|$", GUIDE, re.MULTILINE)


def test_the_guide_has_every_trigger() -> None:
    kinds = [orjson.loads(text)["type"] for text, _, _ in ROWS]

    assert kinds == ["interval", "continuous", "available_now"]


@pytest.mark.parametrize(("declared", "begins", "ends"), ROWS)
def test_a_trigger_of_the_guide_can_be_declared(declared: str, begins: str, ends: str) -> None:
    requested = definition(trigger=orjson.loads(declared))
    spec = complete_stream(orders(), requested, name="sales")

    assert [*check_trigger(requested)] == []
    assert spec.interval_ms == (1_000 if begins.startswith("every second") else 0)
    assert spec.ends == (ends != "never")


def test_an_older_interval_is_the_same_as_the_newer_one() -> None:
    older = complete_stream(orders(), definition(trigger_ms=1_000), name="sales")
    newer = complete_stream(orders(), definition(trigger=orjson.loads(ROWS[0][0])), name="sales")

    assert '`"trigger_ms": 1000` is the older form' in GUIDE
    assert older == newer


def test_state_and_bounds_are_those_of_the_code() -> None:
    assert f'"state":"{StreamState.COMPLETED.value}"' in GUIDE
    assert BOUNDS["max_bytes_per_batch"] == (64 << 10, (2 << 30) - 1)
    assert "(64 KiB to 2 GiB; no bound unless declared)" in GUIDE
