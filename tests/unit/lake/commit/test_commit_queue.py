"""One thread at a time has a turn, in the order of arrival; nobody waits for longer than it wants to."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from braid.lake.commit.commit_queue import CommitQueue, queue_for
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.files.storage.memory import MemoryFileIO
from tests.support.committing import appended, data_file, given_table, live_names, new_committer
from tests.support.waiting import PATIENCE_S, wait_until

FOR_LONG = PATIENCE_S


def has_waiting(queue: CommitQueue, count: int) -> bool:
    return len(queue._waiting) == count


def test_turns_are_taken_one_at_a_time_in_the_order_of_arrival() -> None:
    queue = CommitQueue()
    seen: list[tuple[str, int]] = []

    def take(number: int) -> None:
        with queue.turn(wait_s=FOR_LONG) as has_turn:
            assert has_turn
            seen.append(("begins", number))
            seen.append(("ends", number))

    with ThreadPoolExecutor(5) as threads:
        with queue.turn():
            for number in range(5):
                threads.submit(take, number)
                wait_until(partial(has_waiting, queue, number + 1))
        threads.shutdown()

    assert seen == [(what, number) for number in range(5) for what in ("begins", "ends")]


def test_who_is_not_called_in_time_goes_on_without_a_turn() -> None:
    queue = CommitQueue()

    def take() -> bool:
        with queue.turn(wait_s=0.001) as has_turn:
            return has_turn

    with ThreadPoolExecutor(1) as threads:
        with queue.turn():
            assert threads.submit(take).result() is False
        assert threads.submit(take).result() is True


def test_a_thread_has_its_turn_within_its_turn() -> None:
    queue = CommitQueue()

    with queue.turn(), queue.turn(wait_s=0) as has_turn:
        assert has_turn

    with queue.turn(wait_s=0) as has_turn:
        assert has_turn


def test_committers_of_a_table_share_a_queue(tmp_path: Path) -> None:
    queue = queue_for(LocalFileIO(), f"{tmp_path}/t")

    assert queue_for(LocalFileIO(), f"{tmp_path}/t") is queue
    assert queue_for(LocalFileIO(), f"{tmp_path}/other") is not queue
    assert queue_for(MemoryFileIO(), f"{tmp_path}/t") is not queue


def test_threads_that_commit_at_the_same_moment_lose_no_attempt(tmp_path: Path) -> None:
    file_io = LocalFileIO()
    paths = given_table(file_io, f"{tmp_path}/t")
    start = threading.Barrier(6)

    def commit(number: int) -> int:
        committer = new_committer(file_io, paths)
        start.wait(PATIENCE_S)
        with committer._queue.turn(wait_s=FOR_LONG):
            return committer.commit([appended(data_file(f"{number}"))], commit_user="w").attempts

    with ThreadPoolExecutor(6) as threads:
        attempts = list(threads.map(commit, range(6)))

    assert attempts == [1] * 6
    assert live_names(file_io, paths) == [f"{number}" for number in range(6)]
