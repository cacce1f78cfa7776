"""A running process of the Java reference, shared by the tests of a run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.interop.java_driver import JavaDriver
from tests.interop.java_reader import programs_run_by


@pytest.fixture(scope="session", autouse=True)
def start_java() -> Iterator[Callable[[], JavaDriver]]:
    """What starts Java when a test first asks for it; programs of `java/` run in the same one."""
    with ExitStack() as stack:

        @cache
        def start() -> JavaDriver:
            return stack.enter_context(JavaDriver())

        with programs_run_by(lambda program, arguments: start().run_program(program, arguments)):
            yield start


@pytest.fixture(scope="session")
def java(start_java: Callable[[], JavaDriver]) -> JavaDriver:
    """A running Java."""
    return start_java()
