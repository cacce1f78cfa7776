"""The examples of the guide on dead letters are what a stream and a replay give."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from braid.cli.main import app
from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.lake import LetterAttempt
from braid.pipelines.replay.letter_standing import Standing
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import DeadLetterBudgetSpec, StreamDefinition
from tests.support.replay_bed import ReplayBed
from tests.unit.pipelines.replay.test_replay_run import NARROW, SPEC, long
from tests.unit.records.given_streams import given_plan

GUIDE = Path("docs/guides/dead-letters.md").read_text(encoding="utf-8")
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]


def test_the_budget_is_declared_as_shown() -> None:
    stream = complete_stream(SPEC, StreamDefinition.model_validate(BLOCKS[0]), name="s")

    assert stream.dead_letter_budget == DeadLetterBudgetSpec(count=500, rate=0.01)


def test_a_replay_has_the_result_that_is_shown() -> None:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 1), b"{", long(2, 1)])

    result = bed.replay(given_plan(SPEC)).model_dump(mode="json")

    assert {**result, "finished_ms": BLOCKS[1]["finished_ms"]} == BLOCKS[1]


def test_every_reason_header_and_standing_is_on_the_page() -> None:
    letter = DeadLetter(
        topic="t",
        partition=0,
        offset=0,
        reason=DeadLetterReason.MALFORMED,
        message="m",
        headers=(("a", None),),
        topic_id="i",
        generation=0,
        timestamp_ms=0,
        attempt=LetterAttempt(epoch=1, batch_id=0, attempt=0),
        value_bytes=1,
    )
    named = set(re.findall(r"^\| (`.*?`) \|", GUIDE, re.MULTILINE))
    listed = set(re.findall(r"`([\w.]+)`", " ".join(named)))

    assert {reason.value for reason in DeadLetterReason} <= listed
    assert {name for name, _ in letter.all_headers(connector="c")[1:]} <= listed
    assert {one.value for one in Standing} - {"other_stream"} <= listed


def test_the_commands_have_the_options_that_are_shown() -> None:
    commands = re.findall(r"^braid stream ([\w-]+) (.*)$", GUIDE, re.MULTILINE)
    assert {name for name, _ in commands} == {"dead-letters", "replay"}
    for name, rest in commands:
        shown = CliRunner().invoke(app, ["stream", name, "--help"], env={"COLUMNS": "200"}).output
        for option in re.findall(r"--[\w-]+", rest):
            assert option in shown
