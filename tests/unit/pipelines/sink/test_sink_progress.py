"""Progress adds up over micro-batches, and no producer's clock puts it in the future."""

from braid.lake import CommitResult, Outcome, StreamPosition
from braid.pipelines.pace.back_pressure import Pace
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.sink.task_report import TaskReport
from braid.records.stream_plan import StreamPlan
from tests.unit.records.given_streams import given_plan, given_spec

SPEC = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})
PLAN = given_plan(SPEC)
POSITION = StreamPosition(stream="s", epoch=1, topic="topic", topic_id="id", offsets={0: 5})
PACE = Pace(factor=1, runs=2, interval_ms=1_000, records_max=100)
NOW_MS = 1_000_000


def committed(
    progress: SinkProgress, batch_id: int, report: TaskReport, *, plan: StreamPlan = PLAN
) -> SinkProgress:
    """Return the progress after a commit of snapshot `batch_id + 7`."""
    result = CommitResult(
        snapshot_id=batch_id + 7, attempts=1, wait_ms=0, outcome=Outcome.COMMITTED
    )
    return progress.after_commit(
        batch_id,
        report,
        result,
        position=POSITION,
        plan=plan,
        pace=PACE,
        batch_ms=3,
        now_ms=NOW_MS,
    )


def test_commits_add_up() -> None:
    first = TaskReport(accepted=2, dead_letters={"malformed": 1}, newest_ms=9, seen=("id",))
    second = TaskReport(accepted=1, dead_letters={"malformed": 1, "tombstone": 2}, seen=("a",))

    progress = committed(committed(SinkProgress(position=POSITION), 0, first), 1, second)

    assert (progress.commits, progress.batch_id, progress.snapshot_id) == (2, 1, 8)
    assert (progress.records, progress.batch_records) == (7, 4)
    assert progress.dead_letters == (("malformed", 2), ("tombstone", 2))
    assert progress.newest_ms == 9
    assert progress.unmatched == (("version", "version"),)
    assert progress.pace is PACE


def test_a_replay_changes_nothing_but_its_count() -> None:
    before = committed(SinkProgress(position=POSITION), 0, TaskReport(accepted=2))

    progress = before.after_replay(1)

    assert (progress.replays, progress.batch_id) == (1, 1)
    assert (progress.commits, progress.records) == (1, 2)


def test_a_timestamp_in_the_future_counts_as_now() -> None:
    report = TaskReport(accepted=1, newest_ms=2 * NOW_MS)

    assert committed(SinkProgress(position=POSITION), 0, report).newest_ms == NOW_MS


def test_fields_of_conditions_that_no_record_had_are_known() -> None:
    plan = given_plan(SPEC, where="type = 'a' AND kind = 'b' AND n > 1")
    first = TaskReport(accepted=1, seen_fields=("type",))
    second = TaskReport(accepted=1, seen_fields=("n",))

    progress = committed(SinkProgress(position=POSITION), 0, first, plan=plan)
    assert progress.unmatched_fields == ("kind", "n")
    assert committed(progress, 1, second, plan=plan).unmatched_fields == ("kind",)
