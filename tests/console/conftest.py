"""The browser and the service that it visits. Without the driver of browsers no test of this folder is collected."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.console.console_bed import ConsoleBed

IS_READY = find_spec("playwright") is not None and find_spec("axe_playwright_python") is not None
collect_ignore_glob = [] if IS_READY else ["test_*.py", "visitor.py"]

if IS_READY:
    from tests.console.visitor import Visitor, chromium

    @pytest.fixture(scope="session")
    def browser() -> Iterator[object]:
        """A Chromium without a window."""
        with chromium() as started:
            yield started

    @pytest.fixture
    def visitor(browser: object, bed: ConsoleBed) -> Iterator[Visitor]:
        """A visitor of the service of the test, in whose pages nothing may go wrong unseen."""
        with Visitor.of(browser, bed.address) as visiting:
            yield visiting


@pytest.fixture(scope="module")
def bed() -> Iterator[ConsoleBed]:
    """A service; tests of a module share it."""
    with ConsoleBed.served() as serving:
        yield serving
