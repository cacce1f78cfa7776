"""Wrong arguments end a command at once, with one line and an exit status."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from braid.cli.arguments import ensure_warehouse, machine_name, warehouse_path
from braid.cli.main import app
from braid.registry.names import is_runner_name

RUNNER = ["runner", "--warehouse", "/w"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([*RUNNER, "--name", "../x"], "--name"),
        ([*RUNNER, "--name", ".x"], "--name"),
        ([*RUNNER, "--name", "a/b"], "--name"),
        ([*RUNNER, "--name", ""], "--name"),
        ([*RUNNER, "--name", "r", "--kafka", "nohost"], "--kafka"),
        ([*RUNNER, "--name", "r", "--stream", "nodot"], "--stream"),
        ([*RUNNER, "--name", "r", "--stream", "a.b/"], "--stream"),
        ([*RUNNER, "--stream", "of-a-runner-without-a-name"], "--stream"),
        ([*RUNNER, "--name", "r", "--memory", "lots"], "--memory"),
        ([*RUNNER, "--name", "r", "--label", "zone"], "--label"),
        ([*RUNNER, "--name", "r", "--label", "a=1", "--label", "a=2"], "--label"),
        ([*RUNNER, "--name", "r", "--label", "no name=1"], "--label"),
        (["runner", "--name", "r", "--warehouse", "hdfs://host/w"], "hdfs"),
        (
            ["service", "--warehouse", "s3://key:secret@bucket/w"],
            "the names of a bucket and a folder",
        ),
        (["service", "--warehouse", ""], "--warehouse"),
        (["service", "--warehouse", "/w", "--clusters", "/not/there.toml"], "/not/there.toml"),
        ([*RUNNER, "--name", "r", "--clusters", "/not/there.toml"], "/not/there.toml"),
        (
            ["token", "create", "t", "--grant", "read:*", "--expires", "90", "--warehouse", "/w"],
            "--expires '90': expected a duration such as `1 d`",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_argument_is_refused_in_one_line(arguments: list[str], found: str) -> None:
    result = CliRunner().invoke(app, arguments)

    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert found in line
    assert result.exit_code == 2


def test_a_relative_warehouse_starts_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert warehouse_path("data/w") == str(tmp_path / "data" / "w")
    assert warehouse_path("file:///data/w/") == "/data/w"


def test_a_missing_warehouse_is_created_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "a" / "w"

    ensure_warehouse(str(missing))
    ensure_warehouse(str(missing))

    assert missing.is_dir()
    assert capsys.readouterr().err == f"created the warehouse {missing}\n"
    assert list(missing.iterdir()) == []  # the check left nothing behind


@pytest.mark.parametrize("command", [["service"], ["runner", "--name", "r"]])
@pytest.mark.parametrize(
    ("warehouse", "found"),
    [
        ("/proc/wh", "--warehouse '/proc/wh': cannot create this folder: No such file"),
        ("a" * 300, "File name too long"),
        ("file/below", "cannot open"),
        ("file", "cannot open"),
    ],
)
def test_a_path_that_cannot_be_a_folder_is_refused_at_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    warehouse: str,
    found: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"")

    result = CliRunner().invoke(app, [*command, "--warehouse", warehouse])

    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert found in line
    assert result.exit_code == 2


def test_an_unwritable_warehouse_is_a_warning_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ensure_warehouse("/proc")  # exists, but no file can be created in it

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: cannot write to the warehouse /proc: ")
    assert "check mount, owner and permissions" in line


def test_wrong_settings_of_an_object_store_are_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRAID_STORE_ENDPOINT", "http://host:9000")

    result = CliRunner().invoke(app, [*RUNNER[:2], "s3://bucket/w", "--name", "r"])

    assert "without TLS" in result.stderr
    assert result.exit_code == 2


def test_no_folder_is_created_for_an_object_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    ensure_warehouse(warehouse_path("s3://bucket/w"))

    assert warehouse_path("s3://bucket/w/") == "s3://bucket/w"
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("host", "expected"),
    [("web-1.example", "web-1.example"), ("Jo's Mac", "Jo-s-Mac"), ("", "runner"), ("é", "runner")],
)
def test_a_runner_without_a_name_is_named_after_its_machine(
    monkeypatch: pytest.MonkeyPatch, host: str, expected: str
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)

    found = machine_name()

    assert is_runner_name(found)
    assert found == expected
