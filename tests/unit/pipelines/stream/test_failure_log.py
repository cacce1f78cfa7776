"""What fails again and again is logged when it begins, when its cause changes and when it is over."""

import logging

import pytest

from pipelines.stream.failure_log import FailureLog


def test_an_outage_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outage = FailureLog(logging.getLogger("test"), "registry not read")
    outage.over()
    for attempt in range(5):
        outage.failed(OSError(f"attempt {attempt}\nmore"))
    outage.failed(TimeoutError("late"))
    outage.over()
    outage.over()

    assert caplog.messages == [
        "registry not read error=OSError: attempt 0; more",
        "registry not read error=TimeoutError: late",
        "over: registry not read",
    ]
