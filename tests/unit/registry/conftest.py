"""A warehouse in memory."""

import pytest

from braid.lake import ManualClock, MemoryFileIO


@pytest.fixture
def file_io() -> MemoryFileIO:
    return MemoryFileIO()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
