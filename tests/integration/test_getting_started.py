"""The guide for an existing Kafka runs as it is printed: every command, in its order."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from tests.integration.guide_bed import guide_processes, run_blocks
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

    with guide_processes(GUIDE, session, tmp_path, monkeypatch, port=port):
        run_blocks(doc_examples(GUIDE, "bash"))
    run_python(GUIDE, kind="reader")
