"""The plan is exchanged when it is outdated, and only then; a running query takes up what it can."""

from dataclasses import dataclass, field

import pytest

from braid.lake import (
    InvalidRequest,
    ManualClock,
    RenameColumn,
    StorageUnavailable,
    Table,
    UpdateColumnType,
    parse_type,
)
from braid.pipelines.plan_changes.current_plan import (
    CurrentPlan,
    FixedDeclaration,
    PlanVersion,
)
from braid.records.stream_plan import StreamPlan
from tests.unit.records.given_streams import given_plan, given_spec, given_table

SPEC = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})


@dataclass
class CountedSource:
    """Follows the schema, counts its calls, and fails where a test wants it."""

    reads: int = 0
    error: Exception | None = None
    inner: FixedDeclaration = field(default_factory=FixedDeclaration)

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.inner.newest(plan, table)


@dataclass
class Bench:
    table: Table = field(default_factory=lambda: given_table(SPEC))
    source: CountedSource = field(default_factory=CountedSource)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.began_ms = self.clock.now_ms()
        self.current = CurrentPlan(
            given_plan(SPEC), table=self.table, source=self.source, clock=self.clock
        )

    @property
    def types(self) -> dict[str, str]:
        return {column.name: str(column.type) for column in self.current.plan.columns}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_is_read_while_nothing_changes(bench: Bench) -> None:
    plan = bench.current.plan
    bench.current.refresh()

    assert bench.source.reads == 0
    assert bench.current.plan is plan
    assert bench.current.version == PlanVersion(
        schema_id=0, stream_version=1, since_ms=bench.began_ms
    )


def test_another_schema_of_the_table_exchanges_the_plan(bench: Bench) -> None:
    bench.clock.advance(ms=5)
    bench.table.alter(UpdateColumnType(path=("a",), type=parse_type("BIGINT")))
    bench.current.refresh()

    assert bench.types == {"id": "BIGINT NOT NULL", "a": "BIGINT", "version": "INT"}
    assert bench.current.version == PlanVersion(
        schema_id=1, stream_version=1, since_ms=bench.began_ms + 5
    )


def test_a_refresh_without_a_change_keeps_the_version(bench: Bench) -> None:
    version = bench.current.version
    bench.clock.advance(ms=5)
    bench.current.request_refresh()
    bench.current.refresh()

    assert bench.source.reads == 1
    assert bench.current.version is version


def test_a_request_during_a_micro_batch_waits_for_its_next_attempt(bench: Bench) -> None:
    with bench.current.in_use():
        bench.current.request_refresh()
        assert bench.source.reads == 0
        bench.current.refresh()

    assert bench.source.reads == 1


def test_a_column_that_is_gone_is_reported_by_each_refresh(bench: Bench) -> None:
    bench.table.alter(RenameColumn(path=("a",), name="z"))

    for _ in range(2):
        with pytest.raises(InvalidRequest, match=r"columns\.a: table db\.t has no such column"):
            bench.current.refresh()


def test_a_plan_that_could_not_be_read_is_read_again(bench: Bench) -> None:
    bench.source.error = StorageUnavailable("away")
    with pytest.raises(StorageUnavailable, match="away"):
        bench.current.request_refresh()
    bench.source.error = None
    bench.current.refresh()

    assert bench.source.reads == 2
