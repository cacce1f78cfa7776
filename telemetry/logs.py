"""Logs of a process: lines of text or of JSON on standard error, the id of the request in each line, and levels that signals change.

A message such as `"started stream=%s generation=%d"` names its values. In JSON they are fields:

    {"time": "2026-01-02T03:04:05.678Z", "level": "INFO", "logger": "braid.pipelines.…", "message": "started stream=shop.orders/sales generation=3",
     "stream": "shop.orders/sales", "generation": 3}

SIGUSR1 switches Braid's loggers to DEBUG, SIGUSR2 back to the levels of the start.
"""

import json
import logging
import re
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, TextIO

REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("request id", default=None)
"""Id of the request that the current task or thread works on; None: it works on none."""

ARGUMENT_NAMES: Final = "argument_names"
"""Attribute of a record, which a logger passes in `extra`: names of the message's values that the message itself does not name."""

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"
_VALUE: Final = re.compile(r"(?:(\w+)=)?%[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
_BRAID: Final = "braid"
_OWN_FIELDS: Final = frozenset({"time", "level", "logger", "message", "request_id", "error"})

logger = logging.getLogger(__name__)


class LogFormat(StrEnum):
    """Form of the lines."""

    TEXT = "text"
    JSON = "json"


class TextFormatter(logging.Formatter):
    """Lines of text, with the id of the request at the end of the message. A message of several lines becomes one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the base class
        """Return the line without a trace."""
        line = "; ".join(super().formatMessage(record).splitlines())
        request_id = REQUEST_ID.get()
        if request_id is None or "request_id=" in record.message:
            return line
        return f"{line} request_id={request_id}"


class JsonFormatter(logging.Formatter):
    """Lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with the trace of an error as one of its fields."""
        at = datetime.fromtimestamp(record.created, tz=UTC)
        line: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = REQUEST_ID.get()
        if request_id is not None:
            line["request_id"] = request_id
        for name, value in _named_values(record):
            key = name if name not in _OWN_FIELDS - {"request_id"} else f"{name}_value"
            line[key] = value if isinstance(value, bool | int | float | None) else str(value)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _named_values(record: logging.LogRecord) -> Iterable[tuple[str, object]]:
    """Return the values of a message that have names."""
    if not isinstance(record.args, tuple):
        return []
    names: Sequence[str | None] = getattr(record, ARGUMENT_NAMES, None) or _names(str(record.msg))
    return [
        (name, value) for name, value in zip(names, record.args, strict=False) if name is not None
    ]


@lru_cache(maxsize=1_000)
def _names(template: str) -> tuple[str | None, ...]:
    """Return the name of each value of a message, None for one without.

    >>> _names("started stream=%s within %5.1f ms (100%%) generation=%d")
    ('stream', None, 'generation')
    """
    return tuple(name or None for name in _VALUE.findall(template.replace("%%", "")))


def set_up_logs(
    form: LogFormat,
    levels: Mapping[str, int],
    *,
    text: str = _TEXT,
    stream: TextIO | None = None,
) -> None:
    """Log to standard error from now on, unless the process logs already.

    Args:
        form: Form of the lines.
        levels: Level of each logger that has one of its own; all others have WARNING.
        text: Format of a line of text, in the words of `logging`.
        stream: Where lines are written; None: standard error.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else TextFormatter(text))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def form_of_logs() -> LogFormat:
    """Return the form of the lines that this process logs, for the processes that it starts."""
    handlers = logging.getLogger().handlers
    is_json = any(isinstance(one.formatter, JsonFormatter) for one in handlers)
    return LogFormat.JSON if is_json else LogFormat.TEXT


def change_levels_on_signals(levels: Mapping[str, int]) -> None:
    """Let SIGUSR1 switch Braid's loggers to DEBUG, and SIGUSR2 back.

    Requires: This is the main thread.

    Args:
        levels: The levels of the start, as `set_up_logs` was given.
    """
    own = {_BRAID: logging.NOTSET} | {
        name: level for name, level in levels.items() if name.partition(".")[0] == _BRAID
    }

    def switch(number: int, _frame: object) -> None:
        is_verbose = number == signal.SIGUSR1
        for name, level in own.items():
            logging.getLogger(name).setLevel(logging.DEBUG if is_verbose else level)
        logger.warning("log level is %s now", "DEBUG" if is_verbose else "that of the start")

    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, switch)
