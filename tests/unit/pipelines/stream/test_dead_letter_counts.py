"""Dead letters by reason outlive the query and the runner that counted them."""

from braid.pipelines.stream.dead_letter_counts import counts_before, reported_counts
from braid.schemas import RunnerProgress, StreamProgress, StreamState


def _report(runner: str, **counts: int) -> RunnerProgress:
    progress = StreamProgress(state=StreamState.UNASSIGNED, dead_letters_by_reason=counts)
    return RunnerProgress(runner=runner, started_ms=0, updated_ms=0, streams={"db.t/s": progress})


def test_of_several_reports_the_larger_counts_are_true() -> None:
    runners = [_report("a", malformed=3, tombstone=1), _report("b", malformed=5)]

    assert reported_counts(runners, "db.t/s") == {"malformed": 5, "tombstone": 1}
    assert reported_counts(runners, "db.t/other") == {}


def test_counts_beyond_the_tables_are_of_another_table() -> None:
    assert counts_before({"malformed": 3}, dead_lettered=3) == {"malformed": 3}
    assert counts_before({"malformed": 3}, dead_lettered=2) == {}
