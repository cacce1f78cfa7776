"""The README's shell example runs as it is printed there; `tests/unit/docs` runs the Python ones."""

import os
import subprocess
from pathlib import Path

import pytest

from braid.demo.flights_data import STREAMS, load_flights, stream_history
from braid.demo.flights_run import FlightsRun
from tests.support.doc_examples import ROOT, doc_examples
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.spark]

README = ROOT / "README.md"
SCALE = 0.002


def test_readme_example_registers_a_table_and_a_stream_and_reads_a_row(tmp_path: Path) -> None:
    flights = load_flights(SCALE)
    expected = {stream.name: stream_history(flights, stream).num_rows for stream in STREAMS}
    with FlightsRun(tmp_path, scale=SCALE, trigger_ms=500) as run:
        run.start_broker()
        run.start_service()
        run.register()
        run.start_runner("runner-1")
        run.start_producers()
        run.wait_until_ingested(expected, timeout_s=PATIENCE_S)
        answers = run_example(run)

    assert '"paid":"12.50"' in answers
    assert '"complete":true' in answers
    assert '"dep_time":517' in answers


def run_example(run: FlightsRun) -> str:
    """Run the README's shell example and return what it printed."""
    (example,) = doc_examples(README, "bash")
    done = subprocess.run(
        ["bash", "-e", "-c", example.text],
        env={**os.environ, "API": run.api, "KAFKA": run.broker.bootstrap_servers},
        cwd=README.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
