"""The tutorial and the how-to pages run as they are printed, one after another, on one deployment.

Of the broker's command only the topics are used: the broker is that of the other tests. The clusters are declared before the
processes start, as on the page.
"""

import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from tests.integration.guide_bed import guide_processes, run_blocks
from tests.support.doc_examples import ROOT, doc_examples

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TUTORIAL = ROOT / "docs" / "tutorial.md"
HOW_TO = ROOT / "docs" / "how-to"
IN_ORDER = (
    "watch-lag",
    "add-a-column",
    "delete-a-row",
    "read-records-again",
    "move-a-stream",
    "rescale-a-table",
    "restore-from-a-backup",
)
"""Pages with commands; each finds the table as the one before has left it."""


@pytest.mark.timeout(600)
def test_the_tutorial_and_the_how_to_pages_lead_to_what_they_show(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, other_port = free_port(), free_port()
    monkeypatch.setenv("KAFKA", kafka.bootstrap_servers)
    monkeypatch.setenv("WORK", str(tmp_path))
    monkeypatch.setenv("WAREHOUSE", str(tmp_path / "warehouse"))
    monkeypatch.setenv("API", f"http://127.0.0.1:{port}")
    (broker,) = doc_examples(TUTORIAL, "broker")
    _, _, module, *topics = shlex.split(broker.text)
    assert module == "braid.demo.broker"
    kafka.create_topics(dict.fromkeys(topics, 1))
    clusters, *commands = doc_examples(TUTORIAL, "bash")
    for stem in IN_ORDER:
        commands += doc_examples(HOW_TO / f"{stem}.md", "bash")

    run_blocks([clusters])
    with guide_processes(TUTORIAL, session, tmp_path, monkeypatch, port=port):
        run_blocks(commands, replaced=[("8081", str(other_port))])


def test_every_how_to_page_with_commands_is_run() -> None:
    with_commands = {page.stem for page in HOW_TO.glob("*.md") if doc_examples(page, "bash")}

    assert with_commands == set(IN_ORDER)
