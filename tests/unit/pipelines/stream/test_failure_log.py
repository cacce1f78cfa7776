"""A lasting failure is logged when it begins, when its cause changes and when it is over."""

import logging

import pytest

from braid.pipelines.stream.failure_log import FailureLog


def test_a_lasting_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    failures = FailureLog(logging.getLogger("test"), "registry not read")
    failures.note_success()
    for attempt in range(5):
        failures.note_failure(OSError(f"attempt {attempt}\nmore"))
    failures.note_failure(TimeoutError("late"))
    failures.note_success()
    failures.note_success()

    assert caplog.messages == [
        "registry not read error=OSError: attempt 0; more",
        "registry not read error=TimeoutError: late",
        "resolved: registry not read",
    ]
