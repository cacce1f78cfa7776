"""Test bed of guides: the service and the runner of a page as it starts them, and its commands as a reader types them.

The service is a process of its own. The runner is a thread with the session's Spark, because a Spark of its own would cost
too much.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import braid.pipelines.runner_process
from braid.cli.main import app
from braid.demo.processes import Supervisor
from braid.pipelines.settings import RunnerSettings
from tests.integration.runner_bed import running_settings
from tests.support.doc_examples import ROOT, DocExample, doc_examples

TIMEOUT_S = 600.0
_BETWEEN = "--- next block ---"
_PRINTED = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


@contextmanager
def guide_processes(
    page: Path,
    session: SparkSession,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    port: int,
) -> Iterator[None]:
    """Run the service and the runner of a page.

    Args:
        page: The page; one block is marked `service`, with port 8080, and one `runner`.
        session: The runner's Spark.
        folder: For logs and temporary files.
        monkeypatch: Takes the settings of the runner's command.
        port: The port of the service instead of 8080.
    """
    (service,), (runner,) = (doc_examples(page, kind) for kind in ("service", "runner"))
    with (
        _service(service.text.replace("8080", str(port)), folder),
        running_settings(_settings(runner.text, monkeypatch), session, folder),
    ):
        yield


def run_blocks(blocks: Sequence[DocExample], *, replaced: Sequence[tuple[str, str]] = ()) -> None:
    """Run the blocks of pages in one shell, and check that each prints what its page shows.

    The `text` blocks between a block and the next one, or the next heading, show lines, of which each is a part of the output.

    Args:
        blocks: The blocks, in order.
        replaced: Texts of the blocks, and what stands in their place here.
    """
    script = f"\necho; echo '{_BETWEEN}'\n".join(block.text for block in blocks)
    for old, new in replaced:
        script = script.replace(old, new)
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = done.stdout.split(f"\n{_BETWEEN}\n")
    assert len(outputs) == len(blocks)
    for block, output in zip(blocks, outputs, strict=True):
        for shown in _PRINTED.findall(block.after):
            lost = [line for line in shown.splitlines() if line not in output]
            assert lost == [], f"{block.text}\nprints\n{output}"


@contextmanager
def _service(command: str, folder: Path) -> Iterator[None]:
    """Run the command of a service until it answers."""
    _, *arguments = shlex.split(os.path.expandvars(command))
    with Supervisor(folder / "logs") as supervisor:
        child = supervisor.start_module("service", "braid", *arguments)
        child.wait_ready(lambda: _answers(os.environ["API"]), timeout_s=TIMEOUT_S)
        yield


def _answers(api: str) -> bool:
    command = ["curl", "-fsS", f"{api}/v1/tables"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _settings(command: str, monkeypatch: pytest.MonkeyPatch) -> RunnerSettings:
    """Return what the command starts a runner with."""
    found: list[RunnerSettings] = []

    def run(settings: RunnerSettings, **_: object) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(braid.pipelines.runner_process, "main", run)
    _, *arguments = shlex.split(os.path.expandvars(command))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    (settings,) = found
    return settings
