"""Every verb either changes the desired state of a stream, or answers why it does not."""

import pytest

from braid.registry.errors import StreamNotRunning
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.stream_entries import Verb, completed_entry, entry_after_verb
from braid.schemas import DesiredState, StreamDefinition, StreamEntry, StreamState, TableSpec

TABLE = TableSpec.model_validate(
    {
        "columns": [{"name": "id", "type": "INT"}, {"name": "a", "type": "INT"}],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "s", "columns": ["a"]}],
    }
)


def given(state: DesiredState) -> StreamEntry:
    spec = complete_stream(TABLE, StreamDefinition(topic="topic"), name="s")
    return StreamEntry(spec=spec, desired_state=state)


@pytest.mark.parametrize("reported", [*StreamState, None])
@pytest.mark.parametrize("wanted", list(DesiredState))
@pytest.mark.parametrize("verb", list(Verb))
def test_the_answer_has_the_effect(
    verb: Verb, wanted: DesiredState, reported: StreamState | None
) -> None:
    """For every verb in every state: the entry changes, or the answer says that nothing does."""
    entry = given(wanted)
    if verb is Verb.RESTART and wanted is not DesiredState.RUNNING:
        with pytest.raises(StreamNotRunning, match="makes it run"):
            entry_after_verb(entry, verb, reported=reported)
        return

    effect = entry_after_verb(entry, verb, reported=reported)

    assert (effect.entry == entry) == effect.message.endswith("nothing to do")


@pytest.mark.parametrize("reported", [StreamState.FAILED, StreamState.RETRYING])
@pytest.mark.parametrize("verb", [Verb.START, Verb.RESUME, Verb.RESTART])
def test_a_stream_that_failed_or_waits_tries_again(verb: Verb, reported: StreamState) -> None:
    entry = given(DesiredState.RUNNING)

    assert entry_after_verb(entry, verb, reported=reported).entry.restart_generation == 1


@pytest.mark.parametrize("verb", [Verb.START, Verb.RESUME])
def test_a_stream_that_runs_is_left_alone(verb: Verb) -> None:
    effect = entry_after_verb(given(DesiredState.RUNNING), verb, reported=StreamState.RUNNING)

    assert effect.message == "is RUNNING already: nothing to do"


@pytest.mark.parametrize("reported", [StreamState.PAUSED, StreamState.STOPPED])
def test_a_stream_whose_runner_is_behind_is_reported_as_to_be_running(
    reported: StreamState,
) -> None:
    effect = entry_after_verb(given(DesiredState.RUNNING), Verb.RESUME, reported=reported)

    assert effect.message == (
        f"its desired state is RUNNING already; the stream is {reported.value} until its runner has read the desired state: "
        "nothing to do"
    )


def test_the_answer_for_a_stream_without_a_runner_says_so() -> None:
    effect = entry_after_verb(given(DesiredState.STOPPED), Verb.START, reported=None)

    assert effect.entry.desired_state is DesiredState.RUNNING
    assert effect.message.endswith("no runner has it: it runs as soon as a runner takes it")


@pytest.mark.parametrize(
    ("wanted", "verb", "message"),
    [
        (DesiredState.RUNNING, Verb.RESTART, "Spark programs may write it already: nothing to do"),
        (DesiredState.RUNNING, Verb.STOP, "writes of Spark programs are refused until `start`"),
        (DesiredState.RUNNING, Verb.PAUSE, "writes of Spark programs are refused until `resume`"),
        (DesiredState.STOPPED, Verb.START, "was STOPPED, continues at its position"),
    ],
)
def test_the_answer_for_a_stream_of_spark_programs_speaks_of_no_runner(
    wanted: DesiredState, verb: Verb, message: str
) -> None:
    spec = complete_stream(TABLE, StreamDefinition.model_validate({"source": "spark"}), name="s")

    effect = entry_after_verb(StreamEntry(spec=spec, desired_state=wanted), verb, reported=None)

    assert effect.message == message


@pytest.mark.parametrize("reported", [None, StreamState.COMPLETED])
@pytest.mark.parametrize("verb", [Verb.START, Verb.RESUME, Verb.RESTART])
def test_a_stream_that_has_completed_reads_once_more(
    verb: Verb, reported: StreamState | None
) -> None:
    entry = completed_entry(given(DesiredState.RUNNING), generation=0)
    assert entry.is_completed

    started = entry_after_verb(entry, verb, reported=reported).entry

    assert (started.restart_generation, started.is_completed) == (1, False)


def test_a_stream_that_was_started_again_is_not_completed_by_its_former_query() -> None:
    restarted = given(DesiredState.RUNNING).model_copy(update={"restart_generation": 3})

    assert not completed_entry(restarted, generation=2).is_completed


@pytest.mark.parametrize("reported", [*StreamState, None])
def test_only_failed_streams_are_restarted_on_demand(reported: StreamState | None) -> None:
    entry = given(DesiredState.RUNNING)

    effect = entry_after_verb(entry, Verb.RESTART, reported=reported, only_failed=True)

    has_failed = reported in (StreamState.FAILED, StreamState.RETRYING)
    assert effect.entry.restart_generation == entry.restart_generation + has_failed
    assert effect.message.endswith("so it has not failed: nothing to do") == (not has_failed)


def test_a_stream_that_is_not_to_run_and_has_not_failed_is_left_alone_on_demand() -> None:
    entry = given(DesiredState.STOPPED)

    assert entry_after_verb(entry, Verb.RESTART, reported=None, only_failed=True).entry == entry
