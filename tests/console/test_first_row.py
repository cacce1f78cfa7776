"""From an empty service to a served row by the console alone, in a real browser: broker, service, runner and Spark are real.

The processes are those of the tutorial.
"""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.pipelines.stream.ingest import SESSION_CONF
from tests.console.visitor import Visitor
from tests.integration.guide_bed import guide_processes, run_blocks
from tests.support.doc_examples import ROOT, doc_examples

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TUTORIAL = ROOT / "docs" / "tutorial.md"
GROUPS = {
    "orders": ("total", "DECIMAL(10, 2)", "12.50"),
    "payments": ("method", "STRING", "card"),
    "parcels": ("carrier", "STRING", "ACME"),
}
TOPICS = {group: f"console.{group}" for group in GROUPS}
PATIENCE_MS = 300_000


def declare_table(page: Page) -> None:
    page.get_by_role("link", name="Declare a table").click()
    page.get_by_label("Database").fill("shop")
    page.get_by_label("Name", exact=True).fill("orders")
    for number, (group, (column, kind, _)) in enumerate(GROUPS.items(), start=2):
        if number > 2:
            page.get_by_role("button", name="Add a column").click()
        page.get_by_label(f"Name of column {number}").fill(column)
        page.get_by_label(f"Type of column {number}").fill(kind)
        page.get_by_label(f"Group of column {number}").fill(group)
    create = page.get_by_role("button", name="Create the table")
    expect(create).to_be_enabled()
    create.click()
    expect(page.get_by_role("heading", name="shop.orders")).to_be_visible()


def register_stream(page: Page, group: str) -> None:
    page.get_by_role("link", name="Add a stream").first.click()
    page.get_by_label("Writes the group").select_option(group)
    page.get_by_label("Kafka topic").fill(TOPICS[group])
    register = page.get_by_role("button", name="Register the stream")
    expect(register).to_be_enabled()
    register.click()
    expect(page.get_by_role("heading", name=group, exact=True)).to_be_visible()


def send_record(page: Page, record: dict[str, object]) -> None:
    page.get_by_label("Value").fill(json.dumps(record))
    page.get_by_role("button", name="Send the record").click()
    expect(page.get_by_text("The brokers have the record")).to_be_visible()


@pytest.mark.timeout(600)
def test_the_console_leads_from_nothing_to_a_row(
    browser: object,
    kafka: KafkaBroker,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    monkeypatch.setenv("KAFKA", kafka.bootstrap_servers)
    monkeypatch.setenv("WORK", str(tmp_path))
    monkeypatch.setenv("WAREHOUSE", str(tmp_path / "warehouse"))
    monkeypatch.setenv("API", f"http://127.0.0.1:{port}")
    kafka.create_topics(dict.fromkeys(TOPICS.values(), 1))
    spark.conf.set("spark.sql.caseSensitive", SESSION_CONF["spark.sql.caseSensitive"])
    run_blocks(doc_examples(TUTORIAL, "bash")[:1])
    with (
        guide_processes(TUTORIAL, spark, tmp_path, monkeypatch, port=port),
        Visitor.of(browser, f"http://127.0.0.1:{port}") as visitor,
    ):
        page = visitor.open()
        declare_table(page)
        for group, (column, _, value) in GROUPS.items():
            register_stream(page, group)
            send_record(page, {"id": 7, column: value})
            expect(page.locator(".head .badge")).to_have_text("running", timeout=PATIENCE_MS)
            page.get_by_role("link", name="shop.orders").click()
        page.get_by_role("link", name="Find a row").click()
        page.get_by_label("id").fill("7")
        page.get_by_role("button", name="Find the row").click()

        values = page.get_by_role("region", name="Values", exact=True)
        expect(page.get_by_text("the row is complete")).to_be_visible(timeout=PATIENCE_MS)
        for _, _, value in GROUPS.values():
            expect(values).to_contain_text(value)
        page.get_by_role("link", name=re.compile("^Flow")).click()
        expect(page.locator("path.edge.good")).to_have_count(3)
