"""A table and its streams, registered by the forms of the console alone, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration


def test_a_table_and_three_streams_are_registered_by_the_forms(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    page = visitor.open("new")
    page.get_by_label("Database").fill("web")
    page.get_by_label("Name", exact=True).fill("visits")
    columns = [("clicks", "INT", "shop"), ("query", "STRING", "search"), ("ad", "STRING", "ads")]
    for number, (name, kind, group) in enumerate(columns, start=2):
        if number > 2:
            page.get_by_role("button", name="Add a column").click()
        page.get_by_label(f"Name of column {number}").fill(name)
        page.get_by_label(f"Type of column {number}").fill(kind)
        page.get_by_label(f"Group of column {number}").fill(group)
    expect(page.get_by_text("The service would create this table.")).to_be_visible()
    expect(page.locator(".note.good li").first).to_contain_text("creates the table")
    create = page.get_by_role("button", name="Create the table")
    expect(create).to_be_enabled()
    create.click()
    expect(page.get_by_role("heading", name="web.visits")).to_be_visible()

    for _, _, group in columns:
        page.get_by_role("link", name="Add a stream").first.click()
        page.get_by_label("Writes the group").select_option(group)
        page.get_by_label("Kafka topic").fill(f"{group}-topic")
        if group == "ads":
            page.get_by_label("After the registration").select_option("STOPPED")
        page.get_by_role("textbox", name="Value").fill('{"id": 1, "clicks": 2}')
        page.get_by_label("Kafka key").fill("1")
        expect(page.get_by_text("The service would register this stream.")).to_be_visible()
        register = page.get_by_role("button", name="Register the stream")
        if group == "shop":
            expect(page.get_by_text("The record would be")).to_be_visible()
        expect(register).to_be_enabled()
        register.click()
        expect(page.get_by_role("heading", name=group, exact=True)).to_be_visible()
        page.get_by_role("link", name="web.visits").click()

    declared = bed.http.get("/v1/tables/web/visits").json()
    assert declared["spec"]["primary_key"] == ["id"]
    assert sorted(declared["streams"]) == ["ads", "search", "shop"]
    waiting = bed.http.get("/v1/tables/web/visits/streams/ads").json()
    assert waiting["desired_state"] == "STOPPED"


def test_a_refusal_names_the_field_and_a_way_out(visitor: Visitor) -> None:
    page = visitor.open("new")
    page.get_by_label("Database").fill("web")
    page.get_by_label("Name", exact=True).fill("wrong")
    page.get_by_label("Name of column 2").fill("price")
    page.get_by_label("Type of column 2").fill("MONEY")

    refusal = page.locator(".answer [role=status]").first
    expect(refusal).to_contain_text("columns[1].type")
    expect(page.get_by_role("button", name="Create the table")).to_be_disabled()
    page.get_by_label("Type of column 2").fill("DECIMAL(9, 2)")
    expect(refusal).not_to_contain_text("columns[1].type")


def test_what_the_form_says_in_yaml_and_curl_is_its_declaration(visitor: Visitor) -> None:
    page = visitor.open("new")
    page.get_by_label("Database").fill("web")
    page.get_by_label("Name", exact=True).fill("copied")
    curl = page.get_by_role("region", name="curl")
    expect(curl).to_contain_text(f"curl -fsS -X PUT '{visitor.address}/v1/tables/web/copied'")
    page.get_by_role("button", name="YAML").click()

    expect(page.get_by_role("region", name="YAML")).to_have_text(
        "kind: Table\nname: web.copied\nspec:\n  columns:\n    - name: id\n      type: BIGINT\n  primary_key: [id]\n",
    )


def test_text_that_is_no_json_is_named(visitor: Visitor) -> None:
    page = visitor.open("new")
    page.get_by_label("As JSON").fill("{")

    expect(page.get_by_text("This is not JSON")).to_be_visible()
