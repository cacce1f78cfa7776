"""Sampler of a service process: once a second it measures how late the event loop is, and sets the metrics that have a size."""

import asyncio
import mmap
from pathlib import Path
from typing import Final

from braid.service.metrics import ServiceMetrics

SAMPLE_S: Final = 1.0

_MEMORY_FILE: Final = Path("/proc/self/statm")  # only Linux has it


async def sample_process(metrics: ServiceMetrics) -> None:
    """Sample until the task is cancelled."""
    loop = asyncio.get_running_loop()
    if _MEMORY_FILE.exists():
        metrics.sample_with(lambda: metrics.memory.set(_resident_bytes()))
    while True:
        metrics.sample()
        due_s = loop.time() + SAMPLE_S
        await asyncio.sleep(SAMPLE_S)
        metrics.loop_delay.observe(max(0.0, loop.time() - due_s))


def _resident_bytes() -> int:
    return int(_MEMORY_FILE.read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
