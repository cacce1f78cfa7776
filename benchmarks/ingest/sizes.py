"""Sizes of a run of the ingest benchmark, and the aims of its figures."""

from dataclasses import dataclass
from typing import Final

AIM_RECORDS_S: Final = 250_000
AIM_FIRST_COMMIT_S: Final = 15
AIM_P95_MS: Final = 600
AIM_SERVED_P95_MS: Final = 1_000
AIM_GROWTH_TIMES: Final = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes of a run.

    Attributes:
        records: Messages of each topic: `throughput` reads as many twice, `stages` a quarter of them, seven times.
        keys: Keys among them.
        batch_records: Bound of a micro-batch of `throughput` and `latency`.
        rate: Records per second that `latency` produces, all topics together.
        seconds: How long it produces.
        trigger_ms: Interval of the streams' triggers.
        growth_keys: Keys of the tables of `growth`, ascending.
        growth_batch: Records of each of its micro-batches.
        growth_batches: Micro-batches of each stream and round.
        rounds: Rounds of `growth` after one that is not counted: in each, every table has its turn.
    """

    records: int = 1_000_000
    keys: int = 500_000
    batch_records: int = 200_000
    rate: int = 10_000
    seconds: int = 60
    trigger_ms: int = 200
    growth_keys: tuple[int, ...] = (1_000_000, 10_000_000)
    growth_batch: int = 50_000
    growth_batches: int = 6
    rounds: int = 2

    @property
    def stage_records(self) -> int:
        """Messages that a round of `stages` reads."""
        return max(1, self.records // 4)
