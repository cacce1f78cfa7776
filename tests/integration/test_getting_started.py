"""The guide for an existing Kafka runs as it is printed: every command, in its order."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import braid.pipelines.runner_process
from braid.cli.main import app
from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.pipelines.settings import RunnerSettings
from tests.integration.runner_bed import running_settings
from tests.support.doc_examples import ROOT, doc_examples, run_python

pytestmark = [pytest.mark.integration, pytest.mark.spark]

GUIDE = ROOT / "docs" / "guides" / "getting-started.md"


@pytest.mark.timeout(300)
def test_the_guide_leads_from_a_broker_to_a_row(
    kafka: KafkaBroker,
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    monkeypatch.setenv("KAFKA", kafka.bootstrap_servers)
    monkeypatch.setenv("WAREHOUSE", str(tmp_path / "warehouse"))
    monkeypatch.setenv("API", f"http://127.0.0.1:{port}")
    (service,), (runner,) = (doc_examples(GUIDE, kind) for kind in ("service", "runner"))

    with (
        _service(service.text.replace("8080", str(port)), tmp_path),
        running_settings(_settings(runner.text, monkeypatch), session, tmp_path),
    ):
        answers = [_run(example.text) for example in doc_examples(GUIDE, "bash")]
    run_python(GUIDE, kind="reader")

    seen, verbs = answers[-2:]
    for text in ('"total":"12.50"', '"carrier":"ACME"', '"sent_at":"2026-01-02T02:04:05.000"'):
        assert text in seen
    assert '"dead_lettered":1' in seen  # from the table; reasons come with the runner's next report
    assert re.findall(r'"message":"orders: [^"]+"', verbs)


@contextmanager
def _service(command: str, directory: Path) -> Iterator[None]:
    """Run the guide's command until it answers."""
    _, *arguments = shlex.split(os.path.expandvars(command))
    with Supervisor(directory / "logs") as supervisor:
        child = supervisor.start_module("service", "braid", *arguments)
        child.wait_ready(lambda: _answers(os.environ["API"]), timeout_s=600)
        yield


def _answers(api: str) -> bool:
    command = ["curl", "-fsS", f"{api}/v1/tables"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _settings(command: str, monkeypatch: pytest.MonkeyPatch) -> RunnerSettings:
    """Return what the guide's command starts a runner with; a Spark of its own would cost too much."""
    found: list[RunnerSettings] = []

    def run(settings: RunnerSettings) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(braid.pipelines.runner_process, "main", run)
    _, *arguments = shlex.split(os.path.expandvars(command))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    (settings,) = found
    return settings


def _run(text: str) -> str:
    """Run a block as a shell does and return what it printed."""
    done: Any = subprocess.run(
        ["bash", "-e", "-c", text], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)
