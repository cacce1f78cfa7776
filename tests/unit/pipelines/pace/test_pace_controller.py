"""Back-pressure holds a query after its micro-batch, and asks for another bound when it matters."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from braid.lake import ManualClock, StorageUnavailable, Table
from braid.pipelines.maintenance_requests import MaintenanceRequests
from braid.pipelines.pace.back_pressure import Pace
from braid.pipelines.pace.pace_controller import FIRST_RECORDS_MAX, PaceController
from tests.support.waiting import PATIENCE_S, wait_until
from tests.unit.records.given_streams import given_plan, given_spec, given_table

OPTIONS = {"num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "3"}
SPEC = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"}, buckets=2, options=OPTIONS)
BUCKET, OTHER = (b"", 0), (b"", 1)
HOUR_MS = 3_600_000


@dataclass
class Bench:
    """A controller of a stream with a bound in records, and the runs of its table's buckets."""

    runs: dict[tuple[bytes, int], int] = field(default_factory=dict)
    clock: ManualClock = field(default_factory=ManualClock)
    bytes_max: int | None = None
    records_max: int = 10

    def __post_init__(self) -> None:
        plan = given_plan(
            SPEC,
            trigger_ms=HOUR_MS,
            max_records_per_batch=self.records_max,
            max_bytes_per_batch=self.bytes_max,
            max_message_bytes=1_000,
        )
        self.requests = MaintenanceRequests()
        self.controller = PaceController(
            plan, table=given_table(SPEC), clock=self.clock, requests=self.requests
        )

    def measure(self, runs: int) -> Pace:
        """Measure after a micro-batch that wrote to the first bucket."""
        self.runs = {BUCKET: runs, OTHER: 100}
        self.controller.measure({BUCKET}, batch_ms=5)
        return self.controller.pace

    def holding(self) -> threading.Thread:
        """Hold the query in a thread of its own, and return the thread."""
        thread = threading.Thread(
            target=self.controller.hold, kwargs={"started_ms": self.clock.now_ms()}, daemon=True
        )
        thread.start()
        return thread


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench()
    monkeypatch.setattr(Table, "runs_per_bucket", lambda _table: made.runs)
    return made


def ended(thread: threading.Thread) -> bool:
    thread.join(PATIENCE_S)
    return not thread.is_alive()


def test_the_pace_follows_the_buckets_that_were_written_to(bench: Bench) -> None:
    assert [bench.measure(runs).factor for runs in (3, 4, 9, 3, 2)] == [1, 2, 4, 4, 2]


def test_maintenance_is_asked_for_where_a_bucket_is_due(bench: Bench) -> None:
    asked: list[int] = []
    bench.measure(9)  # nobody answers yet
    bench.requests.answer_with(lambda: asked.append(bench.runs[BUCKET]))

    for runs in (1, 2, 3, 4):
        bench.measure(runs)

    assert asked == [3, 4]


def test_a_micro_batch_without_rows_leaves_the_pace(bench: Bench) -> None:
    before = bench.measure(9)
    bench.controller.measure((), batch_ms=5)

    assert bench.controller.pace is before


def test_runs_that_cannot_be_counted_leave_the_pace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.measure(9)

    def fail(_table: Table) -> dict[tuple[bytes, int], int]:
        message = "away"
        raise StorageUnavailable(message)

    monkeypatch.setattr(Table, "runs_per_bucket", fail)
    bench.controller.measure({BUCKET}, batch_ms=5)

    assert bench.controller.pace is before


def test_without_back_pressure_a_query_is_not_held(bench: Bench) -> None:
    bench.controller.hold(started_ms=bench.clock.now_ms())

    assert bench.controller.due_bound(10) is None


def test_an_interval_that_is_over_holds_no_query(bench: Bench) -> None:
    bench.measure(9)

    bench.controller.hold(started_ms=bench.clock.now_ms() - 2 * HOUR_MS)


def _due(bench: Bench, batch_records: int) -> Callable[[], bool]:
    return lambda: bench.controller.due_bound(batch_records) is not None


def test_a_held_query_with_full_micro_batches_gets_another_bound(bench: Bench) -> None:
    bench.measure(9)
    assert bench.controller.due_bound(10) is None, "it is not held yet"
    thread = bench.holding()
    wait_until(_due(bench, 10))

    assert bench.controller.due_bound(9) is None, "a larger bound would change nothing"
    assert bench.controller.records_max == 10
    with bench.controller.interrupted(20):
        assert ended(thread)
    assert bench.controller.records_max == 20
    assert bench.controller.due_bound(20) is None


def test_a_query_is_held_again_after_an_interruption(bench: Bench) -> None:
    bench.measure(9)
    with bench.controller.interrupted(20):
        bench.controller.hold(started_ms=bench.clock.now_ms())
    bench.measure(9)
    thread = bench.holding()
    wait_until(_due(bench, 20))
    assert thread.is_alive()
    bench.controller.release()

    assert ended(thread)


def test_the_end_of_the_pressure_restores_the_declared_bound(bench: Bench) -> None:
    bench.measure(9)
    with bench.controller.interrupted(20):
        pass
    bench.measure(1)

    assert bench.controller.due_bound(0) == 10


def test_larger_records_hold_the_query_until_it_has_a_smaller_bound() -> None:
    bench = Bench(bytes_max=10_000)
    assert bench.controller.records_max == 10
    bench.controller.measure((), batch_ms=5, records=10, size=40_000)
    thread = bench.holding()
    wait_until(_due(bench, 10))

    assert bench.controller.due_bound(10) == 2
    with bench.controller.interrupted(2):
        assert ended(thread)
    assert bench.controller.due_bound(2) is None


def test_smaller_records_get_a_larger_bound_where_micro_batches_are_full() -> None:
    bench = Bench(bytes_max=2_000)
    assert bench.controller.records_max == 2
    bench.controller.measure((), batch_ms=5, records=2, size=200)

    assert bench.controller.due_bound(0) is None, "a larger bound would change nothing"
    assert bench.controller.due_bound(2) == 10


def test_the_first_micro_batch_is_small_and_holds_the_query_until_it_has_the_declared_bound() -> (
    None
):
    bench = Bench(records_max=100_000)
    assert bench.controller.records_max == FIRST_RECORDS_MAX
    bench.controller.measure((), batch_ms=5, records=FIRST_RECORDS_MAX, size=1)
    thread = bench.holding()
    wait_until(_due(bench, FIRST_RECORDS_MAX))

    with bench.controller.interrupted(100_000):
        assert ended(thread)
    assert bench.controller.records_max == 100_000
    bench.controller.hold(started_ms=bench.clock.now_ms())


def test_a_first_micro_batch_of_few_records_holds_no_query() -> None:
    bench = Bench(records_max=100_000)
    bench.controller.measure((), batch_ms=5, records=100, size=1)

    bench.controller.hold(started_ms=bench.clock.now_ms())

    assert bench.controller.due_bound(100) is None


def test_back_pressure_multiplies_the_bound_in_bytes_too(bench: Bench) -> None:
    made = Bench(bytes_max=2_000, runs=bench.runs)
    bench.runs[BUCKET] = 9

    made.controller.measure({BUCKET}, batch_ms=5, records=2, size=2_000)

    pace = made.controller.pace
    assert (pace.factor, pace.records_max) == (2, 4)
