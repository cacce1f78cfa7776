"""The commands `braid token`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from braid.cli.main import app


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["token", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    return str(tmp_path)


def test_a_token_is_made_listed_and_revoked(warehouse: str) -> None:
    made = run("create", "dashboard", "--grant", "read:shop.*,crm.people", "--grant", "write:shop.orders",
               "--expires", "90 d", "--warehouse", warehouse)  # fmt: skip
    status, text, told = made
    assert status == 0
    assert text.startswith("braid_")
    assert len(text.split()) == 1
    assert "read:shop.*,crm.people write:shop.orders" in told

    status, listed, _ = run("list", "--warehouse", warehouse)
    assert status == 0
    name, public, grants, _, expiry = listed.rstrip("\n").split("\t")
    assert (name, grants) == ("dashboard", "read:shop.*,crm.people write:shop.orders")
    assert public == text.split("_")[1]
    assert expiry.startswith("expires 2")
    assert text.split("_", 2)[2].strip() not in listed

    assert run("revoke", "dashboard", "--warehouse", warehouse)[0] == 0
    assert run("list", "--warehouse", warehouse) == (0, "", "")


def test_the_secret_is_nowhere_in_the_warehouse(warehouse: str) -> None:
    _, text, _ = run("create", "a", "--grant", "read:*", "--warehouse", warehouse)
    secret = text.strip().split("_", 2)[2]

    files = [path.read_text() for path in Path(warehouse).rglob("*") if path.is_file()]

    assert any('"name": "a"' in content for content in files)
    assert not any(secret in content for content in files)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["a", "--grant", "reed:*"], "one of read, write, operate, admin"),
        (["a", "--grant", "read"], "expected `database.table`"),
        (["a", "--grant", "read:shop"], "expected `database.table`"),
        (["a", "--grant", "read:shop.*,"], "expected `database.table`"),
        (["a", "--grant", "read:" + ",".join(["a.b"] * 101)], "at most 100"),
        (["a b", "--grant", "read:*"], "expected letters"),
        (["a", "--grant", "read:*", "--expires", "soon"], "--expires"),
        (["a", "--grant", "read:*", "--expires", "0 d"], "expired already"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_wrong_arguments_are_refused_in_one_line(
    warehouse: str, arguments: list[str], found: str
) -> None:
    status, text, told = run("create", *arguments, "--warehouse", warehouse)

    assert (status, text) == (2, "")
    assert found in told
    assert told.count("\n") == 1


def test_an_unknown_token_cannot_be_revoked(warehouse: str) -> None:
    status, _, told = run("revoke", "x", "--warehouse", warehouse)

    assert status == 2
    assert "no token is named 'x'" in told


def test_an_expired_token_is_listed_as_such(warehouse: str) -> None:
    run("create", "short", "--grant", "read:*", "--expires", "1 ms", "--warehouse", warehouse)

    listed = ""
    while "has expired" not in listed:
        listed = run("list", "--warehouse", warehouse)[1]


def test_tokens_are_in_the_audit_log_without_their_secrets(warehouse: str) -> None:
    _, text, _ = run("create", "a", "--grant", "read:shop.*", "--warehouse", warehouse)
    run("revoke", "a", "--warehouse", warehouse)

    shown = CliRunner().invoke(app, ["audit", "--warehouse", warehouse, "-o", "json"]).stdout
    entries = [json.loads(line) for line in shown.splitlines()]

    assert [entry["action"] for entry in entries] == ["revoke_token", "create_token"]
    assert [entry["table"] for entry in entries] == [None, None]
    (change,) = entries[1]["changes"]
    assert change["pointer"] == "/tokens/a"
    assert change["after"]["grants"] == [{"scope": "read", "tables": ["shop.*"]}]
    assert text.strip().split("_", 2)[2] not in shown


def test_a_token_that_a_deployment_has_made_is_added_once(warehouse: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"braid_{'0' * 16}_{'ab' * 32}\n")
    arguments = ("create", "prometheus", "--grant", "read:*", "--token-file", str(file))

    for _ in range(2):
        status, text, told = run(*arguments, "--warehouse", warehouse)
        assert (status, text) == (0, "")
        assert "its text is that of" in told

    assert run("list", "--warehouse", warehouse)[1].count("\n") == 1
    file.write_text("guess")
    assert run(*arguments, "--warehouse", warehouse)[0] == 2
