"""Readings of the streams of a service at one moment, and their rates from two readings."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from braid.schemas import StreamState, StreamStatus

if TYPE_CHECKING:
    from braid.client import Client

_PARALLEL: Final = 4
"""Requests at once, of the twenty reads that a service answers at once."""
_WORST_FIRST: Final = (
    StreamState.FAILED,
    StreamState.RETRYING,
    StreamState.UNASSIGNED,
    StreamState.STARTING,
    StreamState.RUNNING,
    StreamState.PAUSED,
    StreamState.STOPPED,
    StreamState.COMPLETED,
    StreamState.EXTERNAL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A stream at one moment.

    Attributes:
        table: `<database>.<table>`.
        stream: The stream's name.
        state: Its state.
        lag_seconds: The age of the oldest record that it has not read, in seconds; None: not known.
        lag_records: The number of records that it has not read; None: not known.
        records: Records that it has read since its first start.
        records_per_second: The rate since the reading before; None: there is none, or no time has passed.
        dead_letters: Dead letters since its first start.
        runner: The runner that has it; None: none.
        failure: The failure in words; None: none.
    """

    table: str
    stream: str
    state: StreamState
    lag_seconds: float | None
    lag_records: int | None
    records: int
    records_per_second: float | None = None
    dead_letters: int
    runner: str | None
    failure: str | None

    @property
    def key(self) -> tuple[str, str]:
        """The names of the table and of the stream."""
        return self.table, self.stream

    def document(self, time: str) -> dict[str, Any]:
        """Return the reading as JSON values, with the time of the round, ISO 8601, UTC."""
        return {"time": time, **asdict(self), "state": self.state.value}


def read_streams(client: "Client", tables: Sequence[str]) -> list[Reading]:
    """Return the streams of tables, the worst first: by state, then by lag in seconds, then by name.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    keys = [
        (table, stream.name) for table in tables for stream in client.table(table).streams().streams
    ]
    with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="braid watch") as threads:
        statuses = list(threads.map(lambda key: client.table(key[0]).stream(key[1]).status(), keys))
    return sorted(map(_reading, statuses), key=_rank)


def with_rates(
    readings: Sequence[Reading], before: Mapping[tuple[str, str], Reading], seconds: float
) -> list[Reading]:
    """Return readings with their rates.

    Args:
        readings: The readings.
        before: Those of the round before, by `key`.
        seconds: The time between both; 0: rates are not known.
    """
    found = []
    for one in readings:
        old = before.get(one.key)
        if old is not None and seconds > 0 and one.records >= old.records:
            rate = round((one.records - old.records) / seconds, 1)
            found.append(replace(one, records_per_second=rate))
        else:
            found.append(one)
    return found


def _reading(status: StreamStatus) -> Reading:
    return Reading(
        table=f"{status.database}.{status.table}",
        stream=status.stream,
        state=status.state,
        lag_seconds=status.lag_seconds,
        lag_records=status.lag_records,
        records=status.account.records,
        dead_letters=status.account.dead_lettered,
        runner=status.worker_id,
        failure=None if status.failure is None else status.failure.cause,
    )


def _rank(one: Reading) -> tuple[int, float, str, str]:
    return _WORST_FIRST.index(one.state), -(one.lag_seconds or 0.0), one.table, one.stream
