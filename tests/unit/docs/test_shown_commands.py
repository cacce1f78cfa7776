"""Commands that pages show outside of marked examples: they run here, or the file of commands that do not lists them."""

import argparse
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from braid.cli.main import app
from braid.lake import Catalog
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.shown_commands import ShownCommand, hidden_commands, shown_commands
from tests.unit.service.http_client import HttpClient

NOT_RUN = Path(__file__).parent / "commands_not_run.txt"
COMMANDS = list(shown_commands())
SNAPSHOTS = 45


def _not_run() -> list[tuple[str, str]]:
    """Return the pages and the beginnings of the commands that are not run."""
    lines = NOT_RUN.read_text(encoding="utf-8").splitlines()
    found = (line.partition("\t") for line in lines if line and not line.startswith("#"))
    return [(page, beginning) for page, _, beginning in found]


def _is_listed(command: ShownCommand) -> bool:
    return any(
        command.page == page and command.text.startswith(beginning)
        for page, beginning in _not_run()
    )


RUN = [command for command in COMMANDS if not _is_listed(command)]
RUN_PAGES = sorted({command.page for command in RUN})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the tables that pages name, of some snapshots."""
    warehouse = tmp_path_factory.mktemp("prepared") / "warehouse"
    catalog = Catalog(str(warehouse))
    parcels = catalog.create_table(
        "shop.parcels",
        columns=[("id", "BIGINT"), ("paid", "DOUBLE")],
        primary_key=["id"],
        options={"bucket": "2", "snapshot.num-retained.min": "2"},
    )
    for number in range(SNAPSHOTS):
        parcels.write_and_commit(pa.table({"id": [number % 10], "paid": [float(number)]}))
    parcels.reset_consumer("reports", 3)
    catalog.create_table(
        "shop.orders",
        columns=[("id", "BIGINT"), ("total", "INT")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    return warehouse


@pytest.mark.parametrize("page", RUN_PAGES)
def test_the_commands_of_a_page_run_in_their_order(
    page: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = tmp_path / "warehouse"
    shutil.copytree(prepared, warehouse)
    monkeypatch.chdir(tmp_path)
    client = HttpClient(create_app(ServiceSettings(warehouse=str(warehouse))))
    for command in RUN:
        if command.page != page:
            continue
        program, *arguments = [
            word.replace("/data/warehouse", str(warehouse)).replace("$WAREHOUSE", str(warehouse))
            for word in command.words
        ]
        if program == "curl":
            answer = _request(client, arguments)
            assert answer.is_success, f"{command.text}\n{answer.text}"
            continue
        assert program == "braid", f"{command.page}: {command.text}"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{command.text}\n{done.output}"


def _request(client: HttpClient, arguments: Sequence[str]) -> httpx.Response:
    """Send the request of a command of `curl`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-fsS", action="store_true")
    parser.add_argument("-X", "--request")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data")
    parser.add_argument("address")
    given = parser.parse_args(arguments)
    method = given.request or ("GET" if given.data is None else "POST")
    headers = dict(header.split(": ", 1) for header in given.header)
    path = given.address.removeprefix("$API")
    return client.request(method, path, headers=headers, content=given.data)


def test_every_command_that_is_listed_as_not_run_is_on_its_page() -> None:
    stale = [
        (page, beginning)
        for page, beginning in _not_run()
        if not any(one.page == page and one.text.startswith(beginning) for one in COMMANDS)
    ]

    assert stale == []


def test_commands_are_in_blocks_of_a_shell() -> None:
    assert list(hidden_commands()) == []


def _options() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command of the program with each option that a page shows for it."""
    for command in COMMANDS:
        words = [word for word in command.words if "=" not in word or word.startswith("--")]
        program, *rest = words or [""]
        if Path(program).name != "braid" or not rest:
            continue
        groups = (
            "table",
            "stream",
            "row",
            "explain",
            "tag",
            "consumer",
            "token",
            "operation",
            "runner",
        )
        depth = next((n for n, word in enumerate(rest) if word not in groups), len(rest))
        for word in rest:
            if option := re.match(r"--[a-z][\w-]*", word):
                # A group may be a command itself, with options of its own.
                end = depth if rest[depth].startswith("-") else depth + 1
                yield tuple(rest[:end]), option.group()


@pytest.mark.parametrize(("path", "option"), sorted(set(_options())))
def test_every_shown_option_exists(path: tuple[str, ...], option: str) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "300"}).output

    assert option in shown
