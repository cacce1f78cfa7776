"""The examples of the guide "Watch a deployment" are what processes show, and its alerts and dashboard name metrics that exist."""

import json
import logging
import re
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from braid.lake import ManualClock, MemoryFileIO
from braid.pipelines.stream import stream_supervisor
from braid.registry.store.progress import ProgressStore
from braid.schemas import Account, RunnerProgress, StreamProgress, StreamState, TableProgress
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from braid.telemetry.logs import JsonFormatter
from braid.telemetry.report_metrics import ReportMetrics
from docs.generator.metric_page import metric_names
from tests.support.doc_examples import ROOT, doc_examples
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

GUIDE = ROOT / "docs" / "guides" / "watch.md"
ALERTS = ROOT / "observability" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "observability" / "grafana" / "braid.json"
RUNBOOK = "docs/guides/alerts.md"
RULES = [
    rule
    for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
OF_PROMETHEUS = {"up", "process_resident_memory_bytes", "process_cpu_seconds_total"}


def example(kind: str) -> str:
    (found,) = doc_examples(GUIDE, kind)
    return found.text


def report(*, accepted: int, lag_records: int) -> RunnerProgress:
    stream = StreamProgress(
        state=StreamState.RUNNING,
        lag_records=lag_records,
        lag_seconds=1.5,
        account=Account(accepted=accepted, dead_lettered=2),
        dead_letters_by_reason={"malformed": 2},
    )
    return RunnerProgress(
        runner="runner-1",
        started_ms=0,
        updated_ms=0,
        streams={"shop.orders/sales": stream},
        tables={"shop.orders": TableProgress(looks=1, most_runs=3)},
    )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start_ms=1_700_000_000_000)


def test_the_metrics_of_the_page_are_shown(clock: ManualClock) -> None:
    file_io = MemoryFileIO(clock=clock)
    client = HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    ProgressStore(file_io, "/w", clock).write(report(accepted=91_200, lag_records=120))
    rows = pa.table({"id": pa.array([1], pa.int64()), "region": ["eu"]})
    client.app.state.components.tables.get("shop.orders").write_and_commit(rows)
    client.get("/v1/tables/shop/orders/rows?id=1&region=eu").raise_for_status()

    shown = client.get("/metrics").text.splitlines()

    assert [line for line in example("metrics").splitlines() if line not in shown] == []


def test_the_history_of_the_page_is_answered(clock: ManualClock) -> None:
    file_io = MemoryFileIO(clock=clock)
    client = HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    recorder = client.app.state.components.history
    progress = ProgressStore(file_io, "/w", clock)
    for accepted, lag_records in ((1_000, 120), (1_600, 20)):
        progress.write(report(accepted=accepted, lag_records=lag_records))
        recorder.record()
        clock.advance(ms=15_000)

    assert client.get("/v1/tables/shop/orders/history").json() == json.loads(example("history"))


def test_the_line_of_the_page_is_logged() -> None:
    documented = json.loads(example("log"))
    template = "started stream=%s generation=%d"
    assert f'"{template}"' in Path(stream_supervisor.__file__).read_text(encoding="utf-8")
    arguments = (documented["stream"], documented["generation"])
    record = logging.LogRecord(
        documented["logger"], logging.INFO, "", 0, template, arguments, exc_info=None
    )
    record.created = 1767323045.678

    assert json.loads(JsonFormatter().format(record)) == documented


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_names_metrics_that_exist_and_a_section_that_says_what_to_do(
    rule: dict[str, object],
) -> None:
    name = str(rule["alert"])
    annotations, labels = rule["annotations"], rule["labels"]
    assert isinstance(annotations, dict)
    assert isinstance(labels, dict)

    assert unknown(str(rule["expr"])) == set()
    assert labels["severity"] in ("critical", "warning")
    assert annotations["runbook_url"] == f"{RUNBOOK}#{name.lower()}"
    assert {*annotations} == {"summary", "description", "runbook_url"}


def test_the_alert_about_dead_letters_counts_from_zero() -> None:
    """A series that begins with its first dead letters has not increased, so Prometheus would not see these."""
    (rule,) = [rule for rule in RULES if rule["alert"] == "BraidDeadLetters"]
    without_letters = StreamProgress(state=StreamState.RUNNING)
    runner = RunnerProgress(
        runner="r", started_ms=0, updated_ms=0, streams={"shop.orders/sales": without_letters}
    )
    metrics = ReportMetrics(
        lambda: [runner], clock=ManualClock(start_ms=0), runner_timeout_ms=15_000
    )

    shown = {
        f'{sample.name}{{outcome="{sample.labels["outcome"]}"}}': sample.value
        for family in metrics.collect()
        for sample in family.samples
        if "outcome" in sample.labels
    }

    (counted,) = re.findall(r'braid_\w+{outcome="\w+"}', str(rule["expr"]))
    assert shown[counted] == 0


def test_each_section_about_an_alert_has_its_rule() -> None:
    text = (ROOT / RUNBOOK).read_text(encoding="utf-8")

    sections = re.findall(
        r"^### (\w+)\n\n\*\*Meaning\.\*\* .+\n\n\*\*What to do\.\*\* .+", text, re.MULTILINE
    )

    assert sorted(sections) == sorted(str(rule["alert"]) for rule in RULES)
    assert len(re.findall(r"^### ", text, re.MULTILINE)) == len(sections)


def test_the_dashboard_shows_metrics_that_exist() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]

    expressions = [target["expr"] for panel in panels for target in panel["targets"]]

    assert {name for text in expressions for name in unknown(text)} == set()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert len(expressions) > 30


def unknown(expression: str) -> set[str]:
    """Return the metrics of an expression that no process has."""
    without_texts = re.sub(r'"[^"]*"', '""', expression)
    names = set(re.findall(r"\b(?:braid|process)_\w+|\bup\b", without_texts))
    return names - metric_names() - OF_PROMETHEUS
