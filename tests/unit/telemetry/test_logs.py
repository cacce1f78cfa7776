"""Lines of the log, as text and as JSON: their fields, the id of the request, and levels that signals change."""

import io
import json
import logging
import os
import signal
from collections.abc import Iterator

import pytest

from braid.telemetry.logs import (
    ARGUMENT_NAMES,
    REQUEST_ID,
    JsonFormatter,
    LogFormat,
    TextFormatter,
    change_levels_on_signals,
    form_of_logs,
)

NAME = "braid.test_logs"


class Log:
    """A logger with its lines."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self._stream = io.StringIO()
        handler = logging.StreamHandler(self._stream)
        handler.setFormatter(formatter)
        self.logger = logging.getLogger(NAME)
        self.logger.handlers = [handler]
        self.logger.setLevel(logging.INFO)

    @property
    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()

    @property
    def line(self) -> dict[str, object]:
        """The only line, as JSON."""
        (line,) = self.lines
        found = json.loads(line)
        assert isinstance(found, dict)
        return found


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    logger = logging.getLogger(NAME)
    logger.handlers = []
    logger.setLevel(logging.NOTSET)
    logging.getLogger("braid").setLevel(logging.NOTSET)


def test_values_that_a_message_names_are_fields() -> None:
    log = Log(JsonFormatter())

    log.logger.warning("done table=%s within %.1f ms rows=%d error=%s", "a.t", 1.25, 7, "x y")

    assert log.line.pop("time")
    assert log.line | {"time": ""} == {
        "time": "",
        "level": "WARNING",
        "logger": NAME,
        "message": "done table=a.t within 1.2 ms rows=7 error=x y",
        "table": "a.t",
        "rows": 7,
        "error_value": "x y",
    }


def test_processes_log_in_the_form_of_the_process_that_has_started_them() -> None:
    root = logging.getLogger()
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(JsonFormatter())
    plain = form_of_logs()
    root.addHandler(handler)
    try:
        as_json = form_of_logs()
    finally:
        root.removeHandler(handler)

    assert (plain, as_json) == (LogFormat.TEXT, LogFormat.JSON)


def test_a_logger_can_name_the_values_itself() -> None:
    log = Log(JsonFormatter())

    names = {ARGUMENT_NAMES: ("method", "duration_ms")}
    log.logger.info("%s %.1f ms", "GET", 2.5, extra=names)

    assert (log.line["method"], log.line["duration_ms"]) == ("GET", 2.5)


def test_a_message_with_a_hint_is_one_line_of_text() -> None:
    log = Log(TextFormatter("%(levelname)s %(message)s"))

    log.logger.warning("waits error=%s", "the disk is full\nhint: free some space")

    assert log.lines == ["WARNING waits error=the disk is full; hint: free some space"]


def test_a_message_with_line_breaks_and_a_trace_is_one_line() -> None:
    log = Log(JsonFormatter())

    try:
        raise ValueError("bad\nvalue")
    except ValueError:
        log.logger.exception("failed\nat once")

    assert "bad\nvalue" in str(log.line["error"])
    assert log.line["message"] == "failed\nat once"


@pytest.mark.parametrize(
    ("formatter", "expected"),
    [
        (TextFormatter("%(message)s"), "request_id=r-1"),
        (JsonFormatter(), '"request_id": "r-1"'),
    ],
)
def test_each_line_of_a_request_has_its_id_once(
    formatter: logging.Formatter, expected: str
) -> None:
    log = Log(formatter)
    token = REQUEST_ID.set("r-1")
    try:
        log.logger.info("looked up")
        log.logger.info("failed request_id=%s", "r-1")
    finally:
        REQUEST_ID.reset(token)
    log.logger.info("outside")

    assert [expected in line for line in log.lines] == [True, True, False]
    assert all(line.count("request_id=") <= 1 for line in log.lines)


def test_signals_switch_to_debug_and_back() -> None:
    log = Log(TextFormatter("%(message)s"))
    change_levels_on_signals({NAME: logging.INFO, "other": logging.INFO})

    os.kill(os.getpid(), signal.SIGUSR1)
    log.logger.debug("shown")
    logging.getLogger("braid.other").debug("shown, too")
    is_shown = logging.getLogger("braid.other").isEnabledFor(logging.DEBUG)
    os.kill(os.getpid(), signal.SIGUSR2)
    log.logger.debug("hidden")

    assert log.lines == ["shown"]
    assert is_shown
    assert not logging.getLogger("braid.other").isEnabledFor(logging.DEBUG)
