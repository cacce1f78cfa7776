"""Figures of the comparison of wide rows: rates, state and memory of each side, and ratios to Braid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.figure import figure
from benchmarks.ingest.commit_log import Commit, steady_rate

OURS: Final = "braid"
AIMS: Final[Mapping[str, float]] = {"join": 8, "delta": 10, "iceberg": 10}
"""Multiples of the peers' rates that are aimed at, by peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideResult:
    """One side at one size.

    Attributes:
        side: Its name.
        keys: Rows of the wide table, and messages of each topic.
        begin_ms: When its process was started.
        commits: Its micro-batches, by the time at which they ended.
        rows: Wide rows with the columns of all streams.
        state_bytes: Peak of its state outside of the table: checkpoints.
        memory_bytes: Peak of its processes together; of Braid the runner and what it starts, without the service.
    """

    side: str
    keys: int
    begin_ms: int
    commits: Sequence[Commit]
    rows: int
    state_bytes: int
    memory_bytes: int

    @property
    def cold_rate(self) -> float:
        """Records per second from the start of the process to the last commit."""
        records = sum(commit.records for commit in self.commits)
        end_ms = max(commit.time_ms for commit in self.commits)
        return records / max(1, end_ms - self.begin_ms) * 1_000

    @property
    def steady_rate(self) -> float | None:
        """Records per second from every query's first commit on; None where there are too few commits."""
        return steady_rate(self.commits)

    @property
    def is_complete(self) -> bool:
        """Whether each key has its row."""
        return self.rows == self.keys


def side_figures(result: SideResult) -> list[dict[str, Any]]:
    """Return the figures of one side."""
    name = f"{result.keys:,} keys: {result.side}"
    found = [figure(f"{name}, from its start on", result.cold_rate, "records/s")]
    if result.steady_rate is not None:
        found.append(figure(f"{name}, steady", result.steady_rate, "records/s"))
    return [
        *found,
        figure(f"{name}, state outside of the table", result.state_bytes, "bytes"),
        figure(f"{name}, peak memory", result.memory_bytes / 1e6, "MB"),
        figure(f"{name}, complete rows", result.rows, "rows", result.keys),
    ]


def ratio_figures(results: Sequence[SideResult]) -> list[dict[str, Any]]:
    """Return Braid's rates over those of each peer, by size, and how the ratios grow with the keys.

    Args:
        results: Of all sizes, ascending, in any order of sides.
    """
    ours = {result.keys: result for result in results if result.side == OURS}
    found = []
    ratios: dict[str, dict[int, float]] = {}
    for peer in results:
        if peer.side == OURS or peer.keys not in ours:
            continue
        mine = ours[peer.keys]
        name = f"{peer.keys:,} keys: {OURS} over {peer.side}"
        aim = AIMS[peer.side]
        found.append(figure(f"{name}, from its start on", mine.cold_rate / peer.cold_rate, "times"))
        if mine.steady_rate is not None and peer.steady_rate is not None:
            times = mine.steady_rate / peer.steady_rate
            ratios.setdefault(peer.side, {})[peer.keys] = times
            found.append(figure(f"{name}, steady", times, "times", aim))
    for side, by_keys in ratios.items():
        smallest, largest = min(by_keys), max(by_keys)
        if smallest != largest:
            name = f"ratio to {side}, {largest:,} keys over {smallest:,} keys"
            found.append(figure(name, by_keys[largest] / by_keys[smallest], "times"))
    return found
