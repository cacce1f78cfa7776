"""Values that are loaded again and again."""

import asyncio
import logging
import threading
from dataclasses import dataclass, field

import pytest

from braid.lake import StorageUnavailable
from braid.service.access.refreshed import Refreshed, RefreshTimes

TIMES = RefreshTimes(every_s=0.0, pause_s=0.0, wait_s=30.0, kept_s=100.0)


@dataclass
class Source:
    """Counts loads; fails while it is told to, and first with some exceptions that nobody expects."""

    count: int = 0
    failure: str | None = None
    bugs: int = 0
    now_s: float = 0.0
    gate: threading.Event = field(default_factory=threading.Event)
    third: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def load(self) -> int:
        self.gate.wait()
        if self.bugs:
            self.bugs -= 1
            message = "a bug"
            raise RuntimeError(message)
        self.count += 1
        if self.count == 3:
            self.third.set()
        if self.failure is not None:
            raise StorageUnavailable(self.failure)
        return self.count

    def time_s(self) -> float:
        self.now_s += 0.001
        return self.now_s


def refreshed(source: Source, times: RefreshTimes = TIMES) -> Refreshed[int]:
    return Refreshed(
        source.load,
        name="numbers",
        times=times,
        errors=(StorageUnavailable,),
        steady_s=source.time_s,
    )


def test_nothing_is_known_before_the_first_load() -> None:
    source = Source()
    value = refreshed(source)

    assert value.current() is None
    assert asyncio.run(value.newer()) == 1
    assert value.current() == 1
    assert source.count == 1


def test_a_value_that_is_asked_for_was_loaded_after_the_question() -> None:
    value = refreshed(Source())

    assert [asyncio.run(value.newer()) for _ in range(3)] == [1, 2, 3]


def test_many_questions_share_a_load() -> None:
    source = Source()
    value = refreshed(source)
    source.gate.clear()

    async def ask() -> list[int | None]:
        questions = [asyncio.create_task(value.newer()) for _ in range(100)]
        await asyncio.sleep(0)
        source.gate.set()
        return await asyncio.gather(*questions)

    answers = asyncio.run(ask())

    assert None not in answers
    assert source.count <= 2  # the second one for those that asked while the first was under way


def test_a_failure_leaves_the_last_value_until_it_is_too_old(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Source()
    value = refreshed(source)
    asyncio.run(value.newer())
    source.failure = "no answer\nhint: none"

    with caplog.at_level(logging.INFO):
        assert [asyncio.run(value.newer()) for _ in range(3)] == [None] * 3
        assert value.current() == 1
        source.now_s += 101
        assert value.current() is None
        source.failure = None
        assert asyncio.run(value.newer()) == 5

    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "numbers cannot be loaded: no answer; hint: none",
        "numbers can be loaded again",
    ]


def test_an_unexpected_failure_ends_neither_the_loads_nor_the_questions(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Source(bugs=2)
    value = refreshed(source)

    async def ask_and_follow() -> int | None:
        asked = await value.newer()
        task = asyncio.create_task(value.follow())
        await asyncio.to_thread(source.third.wait)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return asked

    assert asyncio.run(ask_and_follow()) is None

    assert value.current() is not None
    (record,) = caplog.records
    assert record.getMessage() == "numbers cannot be loaded: a bug"
    assert record.exc_info is not None
    value.close()


def test_the_age_counts_from_the_last_load_that_has_succeeded() -> None:
    source = Source()
    value = refreshed(source)
    source.now_s += 10
    unknown = value.age_s
    asyncio.run(value.newer())
    loaded = value.age_s
    source.failure = "away"
    source.now_s += 50
    asyncio.run(value.newer())

    assert (round(unknown), round(loaded), round(value.age_s)) == (10, 0, 50)
    value.close()


def test_a_question_waits_only_for_a_while() -> None:
    source = Source()
    times = RefreshTimes(every_s=0, pause_s=0, wait_s=0.01, kept_s=100)
    value = refreshed(source, times)
    source.gate.clear()

    assert asyncio.run(value.newer()) is None

    source.gate.set()
    value.close()


def test_loads_are_apart_from_each_other() -> None:
    began: list[float] = []
    value = Refreshed(
        lambda: began.append(0.0),
        name="moments",
        times=RefreshTimes(every_s=0, pause_s=1e9, wait_s=0.05, kept_s=100),
        errors=(),
    )
    asyncio.run(value.newer())

    assert asyncio.run(value.newer()) is None
    assert len(began) == 1
    value.close()  # ends the pause


def test_a_followed_value_is_loaded_without_questions() -> None:
    source = Source()
    value = refreshed(source)

    async def follow() -> None:
        task = asyncio.create_task(value.follow())
        await asyncio.to_thread(source.third.wait)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(follow())

    assert value.current() is not None
    value.close()
