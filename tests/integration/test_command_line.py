"""The guide to the command line, run with `braid` alone: from nothing to a registered table, three streams and a served row."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from braid.cli.main import app
from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.formats.clusters.clusters_file import load_clusters
from braid.pipelines.settings import RunnerSettings
from tests.integration.runner_bed import running_settings
from tests.support.doc_examples import ROOT, DocExample, doc_examples
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.spark]

GUIDE = ROOT / "docs" / "guides" / "command-line.md"


@pytest.mark.timeout(600)
def test_the_guide_leads_from_a_file_to_a_row(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.create_topics({"store.sales": 1, "store.payments": 1, "store.parcels": 1})
    clusters = tmp_path / "clusters.toml"
    clusters.write_text(
        f'[clusters.default]\nbootstrap_servers = "{kafka.bootstrap_servers}"\npush = ["*"]\n'
    )
    warehouse, port = str(tmp_path / "warehouse"), free_port()
    monkeypatch.setenv("BRAID_API", f"http://127.0.0.1:{port}")
    monkeypatch.chdir(tmp_path)
    (file,) = doc_examples(GUIDE, "file")
    Path("orders.yaml").write_text(file.text)

    settings = RunnerSettings(warehouse=warehouse, name="r1", clusters=load_clusters(clusters))
    with (
        _service(warehouse, clusters, port, tmp_path),
        running_settings(settings, session, tmp_path),
    ):
        for example in doc_examples(GUIDE, "braid"):
            _run(example)


@contextmanager
def _service(warehouse: str, clusters: Path, port: int, directory: Path) -> Iterator[None]:
    """Run a service until it answers `braid`."""
    options = ("--clusters", str(clusters), "--port", str(port), "--no-access-control")
    # Nothing waits for the operations of the page, and processes that carry them out take seconds to start.
    arguments = ("--warehouse", warehouse, *options, "--operation-workers", "0")
    with Supervisor(directory / "logs") as supervisor:
        child = supervisor.start_module("service", "braid", "service", *arguments)
        child.wait_ready(lambda: _braid("table", "list")[0] == 0, timeout_s=PATIENCE_S)
        yield


def _run(example: DocExample) -> None:
    """Run the commands of a block; what the page says that they print is printed."""
    printed = ""
    for line in example.text.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "braid"
        status, output = _until_printed(example, *arguments)
        # What is wrong with the machine of the tests is no matter of theirs.
        assert status == 0 or example.kind == "braid doctor", f"{line}\n{output}"
        printed += output
    if example.printed is not None:
        assert printed == example.printed


def _until_printed(example: DocExample, *arguments: str) -> tuple[int, str]:
    """Run a command, again and again if it shows a row that not all records have reached."""
    end_s = time.monotonic() + PATIENCE_S
    while True:
        status, output = _braid(*arguments)
        is_complete = status == 0 and output == example.printed
        if example.kind != "braid complete" or is_complete or time.monotonic() > end_s:
            return status, output
        time.sleep(0.2)


def _braid(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout if done.exit_code == 0 else done.output


def test_the_program_reads_a_declaration_from_its_standard_input() -> None:
    """`braid` as a process: what a pipe gives it is read, and a service that does not answer ends it with 75."""
    text = "kind: Stream\ntable: shop.orders\nname: sales\nspec: {topic: sales}\n"
    command = [sys.executable, "-m", "braid", "apply", "-f", "-", "--api", "http://127.0.0.1:1"]
    done = subprocess.run(
        command, cwd=ROOT, input=text, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (75, "")
    assert "hint: is the service running?" in done.stderr
