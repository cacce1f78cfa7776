"""The requests and commands of the guide to schema changes, sent and run."""

import json
import re
import shlex
from pathlib import Path

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT
from tests.support.program import run_braid
from tests.unit.service.http_client import HttpClient

GUIDE = (ROOT / "docs" / "guides" / "schema-changes.md").read_text()
REFERENCE = (ROOT / "docs" / "reference" / "http-api.md").read_text()
TABLE = "/v1/tables/shop/orders"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_bodies_are_accepted_one_after_another() -> None:
    file_io, clock = MemoryFileIO(), ManualClock()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    settings = ServiceSettings(warehouse="/w")
    client = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    client.put(TABLE, json=json.loads(blocks(REFERENCE, "json")[0])).raise_for_status()
    for name in ("sales", "shipping"):
        client.put(f"{TABLE}/streams/{name}", json={"topic": name}).raise_for_status()

    bodies = [json.loads(block) for block in blocks(GUIDE, "json")]
    answers = [client.post(f"{TABLE}/schema-changes", json=body) for body in bodies]

    assert [answer.status_code for answer in answers] == [200, 200]
    read = client.get(f"{TABLE}/streams/sales").json()["spec"]["columns"]
    paths = {column["column"]: column["path"] for column in read}
    assert (paths["amount"], paths["currency"]) == ("total", "price.currency")


def test_the_commands_work(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    catalog.create_table(
        "shop.orders",
        columns=[("id", "BIGINT"), ("total", "INT")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    (commands,) = blocks(GUIDE, "sh")

    for command in commands.replace("\\\n", "").replace("$WAREHOUSE", str(tmp_path)).splitlines():
        program, *arguments = shlex.split(command)
        done = run_braid(*arguments)
        assert (program, done.returncode, done.stderr) == ("braid", 0, "")

    schema = catalog.table("shop.orders").schema
    assert [f"{field.name} {field.type}" for field in schema.fields] == [
        "id BIGINT NOT NULL",
        "total BIGINT",
        "remark STRING",
    ]
