"""A mirror commits the newest position, tells what fails, and delays nobody."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from braid.lake import ManualClock, StorageUnavailable
from braid.pipelines.stream.group_mirror import GroupMirror, MirrorPace
from tests.support.waiting import PATIENCE_S, wait_until

AT_ONCE = MirrorPace(pause_s=0.0, retry_s=0.0, refresh_s=1e6)


class Group:
    """A consumer group that can be made to answer late, or to refuse."""

    def __init__(self) -> None:
        self.committed: list[dict[int, int]] = []
        self.answers = threading.Event()
        self.answers.set()
        self.asked = threading.Event()
        self.error: Exception | None = None
        self.is_closed = False

    def commit(self, offsets: Mapping[int, int]) -> None:
        self.asked.set()
        assert self.answers.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        self.committed.append(dict(offsets))

    def close(self) -> None:
        self.is_closed = True


@contextmanager
def mirrored(group: Group, *, pace: MirrorPace = AT_ONCE) -> Iterator[GroupMirror]:
    mirror = GroupMirror(
        group.commit, group="g", stream="db.t/s", clock=ManualClock(), pace=pace, close=group.close
    )
    try:
        yield mirror
    finally:
        group.answers.set()
        mirror.close()


def test_a_position_is_committed_once() -> None:
    group = Group()
    with mirrored(group) as mirror:
        mirror.offer({0: 5, 1: 7})
        wait_until(lambda: mirror.state.mirrored_ms is not None)
        mirror.offer({0: 5, 1: 7})

    assert group.committed == [{0: 5, 1: 7}]
    assert mirror.state.error is None
    assert group.is_closed


def test_only_the_newest_of_the_positions_that_wait_is_committed() -> None:
    """However late Kafka answers, `offer` returns, and nothing piles up."""
    group = Group()
    group.answers.clear()
    with mirrored(group) as mirror:
        mirror.offer({0: 0})
        assert group.asked.wait(PATIENCE_S)
        for offset in range(1, 1_000):
            mirror.offer({0: offset})
        group.answers.set()
        wait_until(lambda: group.committed[-1:] == [{0: 999}])

    assert group.committed == [{0: 0}, {0: 999}]


def test_a_failure_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    group = Group()
    group.error = StorageUnavailable("it has active members")
    with mirrored(group) as mirror:
        mirror.offer({0: 5})
        wait_until(lambda: mirror.state.error is not None)
        assert (mirror.state.error, mirror.state.mirrored_ms) == ("it has active members", None)
        group.error = None
        wait_until(lambda: mirror.state.error is None)

    assert group.committed == [{0: 5}]
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert warnings == [
        "offsets not mirrored stream=db.t/s group=g error=StorageUnavailable: it has active members"
    ]


def test_the_last_position_is_committed_when_the_stream_stops() -> None:
    group = Group()
    pace = MirrorPace(pause_s=PATIENCE_S, retry_s=PATIENCE_S)
    with mirrored(group, pace=pace) as mirror:
        mirror.offer({0: 5})
        wait_until(lambda: mirror.state.mirrored_ms is not None)
        mirror.offer({0: 6})

    assert group.committed == [{0: 5}, {0: 6}]


def test_a_position_of_a_silent_topic_is_committed_again() -> None:
    """Kafka forgets the offsets of a group without members."""
    group = Group()
    with mirrored(group, pace=MirrorPace(pause_s=0.0, refresh_s=0.0)) as mirror:
        mirror.offer({0: 5})
        wait_until(lambda: len(group.committed) > 1)

    assert group.committed[:2] == [{0: 5}, {0: 5}]
