"""A Debezium connector as a child process, and the events that it sends."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from braid.demo.processes import ChildProcess, Supervisor
from braid.pipelines.spark.jars import java_executable, resolve
from tests.support.captured_postgres.server import USER, PostgresServer

_PROGRAM: Final = Path(__file__).with_name("CapturedEvents.java")
_JVM: Final = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SIGNALS: Final = "public.signals"
"""The table by which the connector is told to take a snapshot: id, type and data, three texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedEvent:
    """An event as the connector sends it.

    Attributes:
        topic: `shop.public.<table>`.
        key: JSON; None: it has none.
        value: JSON; None: a tombstone.
        headers: Values as texts.
    """

    topic: str
    key: str | None
    value: str | None
    headers: Mapping[str, str]


class ChangeCapture:
    """A connector of some tables, which can be killed and started again."""

    def __init__(
        self, server: PostgresServer, *, tables: str, settings: Mapping[str, str] | None = None
    ) -> None:
        """Prepare a connector.

        Args:
            server: The database.
            tables: Names with schemas, separated by commas.
            settings: More of the connector's properties.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="braid-capture-"))
        self._supervisor = Supervisor(self._folder)
        self._events = self._folder / "events.jsonl"
        self._offsets = self._folder / "offsets"
        self._properties = self._folder / "connector.properties"
        self._child: ChildProcess | None = None
        self._events.touch()
        self._read = 0
        self._found: list[CapturedEvent] = []
        properties = {
            "name": "capture",
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": str(self._offsets),
            # Seldom: a connector that is killed between two stores sends the events behind the former one again.
            "offset.flush.interval.ms": "4000",
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": USER,
            "database.password": "none",
            "database.dbname": "postgres",
            "topic.prefix": "shop",
            "plugin.name": "pgoutput",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "table.include.list": tables,
            "signal.data.collection": SIGNALS,
            "incremental.snapshot.chunk.size": "200",
            **(settings or {}),
        }
        lines = [f"{name}={value}" for name, value in properties.items()]
        self._properties.write_text("\n".join(lines), encoding="utf-8")

    def start(self) -> None:
        """Start the connector where it has stored its offset last; without one it takes a snapshot."""
        jars = ":".join(map(str, resolve(["debezium"])["debezium"]))
        self._child = self._supervisor.start(
            "connector",
            [
                *(str(java_executable()), *_JVM, "-cp", jars, str(_PROGRAM)),
                *(str(self._properties), str(self._events)),
            ],
        )

    def kill(self) -> None:
        """Kill the connector (SIGKILL)."""
        assert self._child is not None, "it was started"
        self._child.kill()

    def stored_offset(self) -> bytes:
        """Return the offset that the connector has stored last, as it is in its file; empty: none."""
        return self._offsets.read_bytes() if self._offsets.exists() else b""

    def events(self) -> list[CapturedEvent]:
        """Return all events that have been sent until now."""
        with self._events.open("rb") as file:
            file.seek(self._read)
            *lines, rest = file.read().split(b"\n")
            self._read = file.tell() - len(rest)
        self._found += [event for event in map(_event, lines) if event is not None]
        return self._found

    def wait_for(self, is_enough: Callable[[list[CapturedEvent]], bool]) -> list[CapturedEvent]:
        """Return the events as soon as they are enough.

        Raises:
            ProcessFailed: The connector has ended.
        """
        assert self._child is not None, "it was started"
        self._child.wait_ready(lambda: is_enough(self.events()), timeout_s=600)
        return self.events()

    def __enter__(self) -> Self:
        """Start it."""
        self._supervisor.__enter__()
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it and remove its folder."""
        self._supervisor.__exit__(kind, error, trace)
        shutil.rmtree(self._folder, ignore_errors=True)


def _event(line: bytes) -> CapturedEvent | None:
    """Return the event of a line; None: the line is empty, or was not finished."""
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return CapturedEvent(**found)
