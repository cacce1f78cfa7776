"""Background jobs: a few at a time, in threads that end."""

import threading
from functools import partial

import pytest

from braid.lake.read.lookup.background import BackgroundJobs, copy_threads

WAIT_S = 30


def test_jobs_run_a_few_at_a_time_and_their_threads_end() -> None:
    jobs = BackgroundJobs()
    done: list[int] = []
    running = 0
    most = 0
    lock = threading.Lock()
    finished = threading.Semaphore(0)
    workers: set[threading.Thread] = set()

    def job(number: int) -> None:
        nonlocal running, most
        with lock:
            workers.add(threading.current_thread())
            running += 1
            most = max(most, running)
        with lock:
            running -= 1
            done.append(number)
        finished.release()

    for round_ in range(2):
        for number in range(20):
            jobs.submit(partial(job, number))
        for _ in range(20):
            assert finished.acquire(timeout=WAIT_S)
        for worker in workers:
            worker.join(timeout=WAIT_S)
            assert not worker.is_alive(), f"round {round_}: nothing is left to do"

    assert sorted(done) == sorted([*range(20), *range(20)])
    assert 1 <= most <= copy_threads()


def test_an_error_of_a_job_is_reported_and_does_not_stop_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    jobs = BackgroundJobs()
    finished = threading.Event()

    def broken() -> None:
        message = "broken"
        raise RuntimeError(message)

    for _ in range(copy_threads() + 1):
        jobs.submit(broken)
    jobs.submit(finished.set)
    for _ in range(copy_threads() + 1):
        jobs.submit(lambda: None)

    assert finished.wait(timeout=WAIT_S)
    assert {args.exc_type for args in errors} == {RuntimeError}
