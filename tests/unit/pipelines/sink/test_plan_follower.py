"""The plan is exchanged when it is outdated, and only then."""

from dataclasses import dataclass, field

import pytest

from lake import (
    InvalidRequest,
    ManualClock,
    RenameColumn,
    StorageUnavailable,
    Table,
    UpdateColumnType,
    parse_type,
)
from pipelines.sink.plan_follower import Following, PlanFollower
from pipelines.stream.plan_source import SameDeclaration
from pipelines.stream.stream_plan import StreamPlan
from tests.unit.pipelines.given_streams import given_plan, given_spec, given_table

SPEC = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})


@dataclass
class CountedSource:
    """Follows the schema, counts, and fails where a test says so."""

    asked: int = 0
    error: Exception | None = None
    inner: SameDeclaration = field(default_factory=SameDeclaration)

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        self.asked += 1
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
        self.follower = PlanFollower(
            given_plan(SPEC), table=self.table, source=self.source, clock=self.clock
        )

    @property
    def types(self) -> dict[str, str]:
        return {column.name: str(column.type) for column in self.follower.plan.columns}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_is_asked_while_nothing_changes(bench: Bench) -> None:
    plan = bench.follower.plan
    bench.follower.keep_up()

    assert bench.source.asked == 0
    assert bench.follower.plan is plan
    assert bench.follower.following == Following(
        schema_id=0, stream_version=1, since_ms=bench.began_ms
    )


def test_another_schema_of_the_table_is_followed_by_itself(bench: Bench) -> None:
    bench.clock.advance(ms=5)
    bench.table.alter(UpdateColumnType(path=("a",), type=parse_type("BIGINT")))
    bench.follower.keep_up()

    assert bench.types == {"id": "BIGINT NOT NULL", "a": "BIGINT", "version": "INT"}
    assert bench.follower.following == Following(
        schema_id=1, stream_version=1, since_ms=bench.began_ms + 5
    )


def test_what_is_asked_in_vain_leaves_the_time(bench: Bench) -> None:
    following = bench.follower.following
    bench.clock.advance(ms=5)
    bench.follower.ask()
    bench.follower.keep_up()
    bench.follower.keep_up()

    assert bench.source.asked == 1
    assert bench.follower.following is following


def test_a_column_that_is_gone_is_told_again_and_again(bench: Bench) -> None:
    bench.table.alter(RenameColumn(path=("a",), name="z"))

    for _ in range(2):
        with pytest.raises(InvalidRequest, match=r"columns\.a: table db\.t has no such column"):
            bench.follower.keep_up()


def test_what_could_not_be_read_is_asked_again(bench: Bench) -> None:
    bench.source.error = StorageUnavailable("away")
    bench.follower.ask()
    with pytest.raises(StorageUnavailable, match="away"):
        bench.follower.keep_up()
    bench.source.error = None
    bench.follower.keep_up()

    assert bench.source.asked == 2
