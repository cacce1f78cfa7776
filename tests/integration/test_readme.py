"""The README's example runs as it is printed there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from demo.flights_data import STREAMS, load_flights, stream_history
from demo.flights_run import FlightsRun

pytestmark = [pytest.mark.integration, pytest.mark.spark]

README = Path(__file__).parents[2] / "README.md"
SCALE = 0.002


@pytest.mark.timeout(300)
def test_readme_example_registers_a_table_and_a_stream_and_reads_a_row(tmp_path: Path) -> None:
    flights = load_flights(SCALE)
    expected = {stream.name: stream_history(flights, stream).num_rows for stream in STREAMS}
    with FlightsRun(tmp_path, scale=SCALE, trigger_ms=500) as run:
        run.start_broker()
        run.start_service()
        run.register()
        run.start_runner("runner-1")
        run.start_producers()
        run.wait_until_ingested(expected, timeout_s=120)
        answers = run_example("bash", ["bash", "-e", "-c"], run=run)

    assert '"paid":"12.50"' in answers
    assert '"complete":true' in answers
    assert '"dep_time":517' in answers


def test_readme_example_of_the_engine_prints_what_it_says() -> None:
    printed = run_example("python", [sys.executable, "-c"])

    assert printed.splitlines() == ["12.5", "[{'id': 8}]"]


def run_example(language: str, command: list[str], *, run: FlightsRun | None = None) -> str:
    """Run the README's example of a language and return what it printed, without blanks."""
    pattern = rf"<!-- example: {language} -->\n```{language}\n(.*?)```"
    example = re.search(pattern, README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None, f"the README has no example marked `{language}`"
    addresses = {} if run is None else {"API": run.api, "KAFKA": run.broker.bootstrap_servers}
    done = subprocess.run(
        [*command, example.group(1)],
        env={**os.environ, **addresses},
        cwd=README.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
