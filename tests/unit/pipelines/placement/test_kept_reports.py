"""A runner still reports streams that it has had, in the states that they have without it."""

from braid.pipelines.placement.kept_reports import KEPT_MS, KeptReports
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import DesiredState, StreamDefinition, StreamEntry, StreamProgress, StreamState
from tests.unit.records.given_streams import given_spec

TABLE = given_spec({"id": "INT", "a": "INT"})
ENTRY = StreamEntry(spec=complete_stream(TABLE, StreamDefinition(topic="topic"), name="s"))
RUNNING = StreamProgress(state=StreamState.RUNNING, dead_letters_by_reason={"malformed": 2})


def entry(**changed: object) -> StreamEntry:
    return ENTRY.model_copy(update=changed)


def test_a_stream_that_a_former_process_ran_is_without_a_runner() -> None:
    kept = KeptReports({"db.t/s": RUNNING})

    assert kept.reports["db.t/s"].state is StreamState.UNASSIGNED
    assert kept.reports["db.t/s"].dead_letters_by_reason == {"malformed": 2}


def test_a_kept_stream_has_the_state_that_the_registry_implies() -> None:
    kept = KeptReports({})
    kept.keep("db.t/s", RUNNING)
    states = []
    for known in (
        entry(desired_state=DesiredState.STOPPED),
        entry(completed_generation=0),
        entry(),
    ):
        kept.update({"db.t/s": known}.get, now_ms=0)
        states.append(kept.reports["db.t/s"].state)

    assert states == [StreamState.STOPPED, StreamState.COMPLETED, StreamState.UNASSIGNED]


def test_the_report_of_a_stream_that_others_need_is_kept_for_minutes_and_a_stopped_one_for_ever() -> (
    None
):
    entries = {"db.t/moved": entry(), "db.t/stopped": entry(desired_state=DesiredState.STOPPED)}
    kept = KeptReports(dict.fromkeys(entries, RUNNING))
    kept.update(entries.get, now_ms=1)
    kept.update(entries.get, now_ms=KEPT_MS)
    assert kept.reports.keys() == entries.keys()
    kept.update(entries.get, now_ms=KEPT_MS + 1)

    assert kept.reports.keys() == {"db.t/stopped"}


def test_a_stream_that_is_not_registered_any_more_is_forgotten() -> None:
    kept = KeptReports({"db.t/s": RUNNING})
    kept.update(lambda _: None, now_ms=0)

    assert not kept.reports


def test_a_stream_that_has_come_back_is_reported_by_its_supervisor_alone() -> None:
    kept = KeptReports({"db.t/s": RUNNING, "db.t/t": RUNNING})
    kept.drop("db.t/s")

    assert kept.reports.keys() == {"db.t/t"}
