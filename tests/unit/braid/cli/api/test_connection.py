"""The connection of a command: the token that it sends, and the exit of a command that is not answered."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer
from fastapi import FastAPI, Request
from typer.testing import CliRunner

from braid.cli.api.connection import TOKEN, Connection
from braid.cli.main import app
from tests.support.served_app import served

SECRET = "s3cret-token"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A service that shows the token that it was sent as the name of a table, and refuses the token `bad`."""
    shown = FastAPI()

    @shown.get("/v1/tables")
    def tables(request: Request) -> dict[str, object]:
        sent = request.headers.get("authorization", "none")
        return {"tables": [{"database": "sent", "name": sent}], "next_page_token": None}

    with served(shown) as found:
        yield found


def sent(address: str, token_file: Path | None) -> str:
    with Connection(api=address, token_file=token_file).client() as client:
        return client.tables().tables[0].name


def test_the_token_comes_from_the_file_or_the_variable(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.write_text(f"{SECRET}-of-file\n")
    monkeypatch.delenv(TOKEN, raising=False)
    assert sent(address, None) == "none"
    monkeypatch.setenv(TOKEN, SECRET)

    assert sent(address, None) == f"Bearer {SECRET}"
    assert sent(address, path) == f"Bearer {SECRET}-of-file"


@pytest.mark.parametrize("text", ["", "two words", "a\nb", "schlüssel"])
def test_a_token_that_is_none_is_refused_and_not_shown(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "token"
    path.write_text(text)

    with pytest.raises(typer.Exit) as left:
        sent(address, path)

    assert left.value.exit_code == 2
    assert capsys.readouterr().err == (
        "error: --token-file: expected a token, one line of printable characters\n"
    )


@pytest.mark.parametrize(
    ("api", "status", "found"),
    [
        ("http://127.0.0.1:1", 75, "hint: is the service running?"),
        ("127.0.0.1:8080", 2, "--api '127.0.0.1:8080': expected an address such as"),
        ("http://host:port", 2, "--api 'http://host:port': expected an address"),
    ],
)
def test_a_service_that_does_not_answer(api: str, status: int, found: str) -> None:
    done = CliRunner().invoke(app, ["table", "list", "--api", api])

    assert (done.exit_code, done.stdout) == (status, "")
    assert found in done.stderr


def test_another_program_at_the_address_is_named() -> None:
    other = FastAPI()
    with served(other) as address:
        assert httpx.get(f"{address}/v1/tables").status_code == 404
        done = CliRunner().invoke(app, ["table", "list", "--api", address])

    assert done.exit_code == 1
    assert "is not an answer of the API" in done.stderr
