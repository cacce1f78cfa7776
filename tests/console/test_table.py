"""The page of a table in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration
TABLE = "tables/shop/orders"


def test_streams_flow_into_their_parts_of_the_row(visitor: Visitor) -> None:
    page = visitor.open(TABLE)
    streams = page.get_by_role("list", name="Streams").get_by_role("listitem")

    expect(streams).to_have_count(3)
    expect(streams.filter(has_text="payments")).to_contain_text("1 min 35 s behind")
    expect(streams.filter(has_text="shipping")).to_contain_text("failed")
    expect(page.get_by_role("group", name="The row")).to_contain_text("carrier")
    expect(page.locator("path.edge")).to_have_count(3)
    expect(page.locator("path.edge.bad")).to_have_count(1)


def test_edges_end_at_their_stream_and_at_its_part_of_the_row(visitor: Visitor) -> None:
    page = visitor.open(TABLE)
    expect(page.locator("path.edge")).to_have_count(3)
    ends = page.evaluate(
        """() => [...document.querySelectorAll('path.edge')].map(path => {
            const at = length => path.getPointAtLength(length).matrixTransform(path.getScreenCTM());
            const start = at(0), end = at(path.getTotalLength());
            const near = (x, y) => document.elementFromPoint(x, y).closest('[data-stream], [data-band]');
            return [near(start.x - 8, start.y).dataset.stream, near(end.x + 8, end.y).dataset.band];
        })"""
    )

    assert sorted(ends) == [[name, name] for name in ("payments", "sales", "shipping")]


def test_charts_show_the_last_hours(visitor: Visitor) -> None:
    page = visitor.open(TABLE)
    titles = page.locator(".charts h2")
    lag = page.locator(".charts .card").first

    expect(titles).to_have_count(6)
    assert titles.all_inner_texts()[:4] == ["Lag", "Rate", "Duration of batches", "Complete rows"]
    expect(lag.locator("li")).to_contain_text(["payments 1 min 28 s", "sales"])
    lines = lag.locator("path.line").all()
    assert [(line.get_attribute("d") or "").count("M") for line in lines[:2]] == [2, 2]  # a gap
    lag.locator("svg").first.hover(position={"x": 72, "y": 60})
    expect(lag.locator("li")).to_contain_text(["payments 0.0 s", "sales 1.0 s", ":"])


def test_a_table_without_streams_says_what_to_do(visitor: Visitor) -> None:
    page = visitor.open("tables/shop/returns")

    expect(page.get_by_role("heading", name="No stream fills this table yet")).to_be_visible()
    page.get_by_role("link", name="Add a stream").last.click()
    expect(page.get_by_role("heading", name="New stream")).to_be_visible()


def test_the_schema_has_columns_and_history(visitor: Visitor, bed: ConsoleBed) -> None:
    change = {"change": "add_column", "column": "note", "type": "STRING", "sequence_group": "sales"}
    path = "/v1/tables/shop/orders/schema-changes"
    bed.http.post(path, json={"changes": [change]}).raise_for_status()
    page = visitor.open(f"{TABLE}/schema")

    columns = page.get_by_role("region", name="Columns")
    expect(columns.get_by_role("row").filter(has_text="note")).to_contain_text("sales")
    expect(columns).to_contain_text("What the customer pays")
    expect(columns).not_to_contain_text("sales__at")
    expect(page.get_by_text("Schema 1", exact=True)).to_be_visible()
    expect(page.get_by_text("add column")).to_be_visible()
    page.get_by_label("generated columns").check()
    expect(columns).to_contain_text("sales__at")


def test_the_storage_has_snapshots_files_and_compaction(visitor: Visitor) -> None:
    page = visitor.open(f"{TABLE}/storage")

    for view in ("Levels", "Snapshots", "Files"):
        expect(page.get_by_role("region", name=view)).to_be_visible()
    expect(page.get_by_role("heading", name="Compaction", exact=True)).to_be_visible()
    expect(page.get_by_text("runner-1")).to_be_visible()


def test_the_schema_is_changed_with_its_plan_beside(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open("tables/shop/customers/schema")
    page.get_by_role("button", name="Change the schema").click()
    dialog = page.get_by_role("dialog")
    text = dialog.get_by_label("Changes as JSON")
    text.fill('{"changes": [{"change": "drop_column", "column": "none"}]}')
    expect(dialog.get_by_text("The service would refuse this")).to_be_visible()
    text.fill('{"changes": [{"change": "add_column", "column": "email", "type": "STRING"}]}')
    dialog.get_by_role("button", name="Make the change").click()

    expect(dialog).to_have_count(0)
    expect(page.get_by_role("region", name="Columns")).to_contain_text("email")


def test_a_table_is_dropped_by_its_name_and_can_keep_its_rows(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    columns = [{"name": "id", "type": "BIGINT"}]
    bed.put("/v1/tables/shop/old", {"columns": columns, "primary_key": ["id"]})
    page = visitor.open("tables/shop/old/schema")
    page.get_by_role("button", name="Drop").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Keep the rows and files").check()
    submit = dialog.get_by_role("button", name="Drop the table")
    expect(submit).to_be_disabled()
    dialog.get_by_label("Type shop.old to confirm").fill("shop.old")
    submit.click()

    expect(page.get_by_role("heading", name="Tables", exact=True)).to_be_visible()
    assert bed.http.get("/v1/tables/shop/old").status_code == 404
    assert bed.fed.catalog.table("shop.old").identifier == "shop.old"


def test_a_table_that_does_not_exist_is_a_problem_with_its_request(visitor: Visitor) -> None:
    page = visitor.open("tables/shop/nothing")
    problem = page.get_by_role("alert")

    expect(problem).to_contain_text("shop.nothing")
    expect(problem).to_contain_text("Request id")
