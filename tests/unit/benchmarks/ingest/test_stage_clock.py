"""The clock that gives time to stages: the innermost one gets it."""

from collections.abc import Callable, Iterator

import pytest

from benchmarks.ingest.stage_clock import StageClock


def every_second() -> Callable[[], float]:
    """A clock on which each look takes a second."""
    ticks = iter(range(1_000))
    return lambda: float(next(ticks))


def test_nested_stages_do_not_count_twice() -> None:
    clock = StageClock(every_second())
    with clock.stage("outer"):
        with clock.stage("inner"):
            pass
        with clock.stage("inner"):
            pass

    assert clock.seconds == {"outer": 3.0, "inner": 2.0}


def test_a_stage_that_fails_has_ended() -> None:
    clock = StageClock(every_second())
    with clock.stage("outer"):
        with pytest.raises(KeyError), clock.stage("inner"):
            raise KeyError
        with clock.stage("other"):
            pass

    assert clock.seconds == {"outer": 3.0, "inner": 1.0, "other": 1.0}


def test_time_between_items_is_not_that_of_waiting_for_them() -> None:
    clock = StageClock(every_second())
    with clock.stage("work"):
        assert list(clock.iterated("wait", iter("ab"))) == ["a", "b"]

    assert clock.seconds == {"work": 4.0, "wait": 3.0}


class Writer:
    """Something whose functions are stages."""

    def write(self, text: str) -> str:
        return self.flush(text).upper()

    def flush(self, text: str) -> str:
        return f"<{text}>"


@pytest.fixture
def clock() -> Iterator[StageClock]:
    clock = StageClock(every_second())
    with clock.installed({(Writer, "write"): "writing", (Writer, "flush"): "flushing"}):
        yield clock


def test_functions_become_stages_and_keep_their_results(clock: StageClock) -> None:
    assert Writer().write("x") == "<X>"
    assert clock.seconds == {"writing": 2.0, "flushing": 1.0}


def test_functions_are_put_back() -> None:
    before = Writer.write
    with StageClock(every_second()).installed({(Writer, "write"): "writing"}):
        assert Writer.write is not before

    assert Writer.write is before
