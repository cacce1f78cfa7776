"""The reference, running for whoever takes turns with it."""

from collections.abc import Iterator

import pytest

from tests.interop.java_driver import JavaDriver


@pytest.fixture(scope="session")
def java() -> Iterator[JavaDriver]:
    """A running Java, started when a test first asks for it."""
    with JavaDriver() as driver:
        yield driver
