"""`braid stream backfill`: what is wrong with its arguments is said in one line, before anything is done."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from braid.cli.backfill import BackfillArguments, check_spread
from braid.cli.main import app
from braid.lake import SystemClock
from braid.registry.store.backfill_reports import BackfillReports
from tests.unit.backfill.bed import TABLE, BackfillBed

CLUSTER = ["--master=spark://master:7077"]


@pytest.fixture(autouse=True)
def niceness(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the command lowers the priority of its process by; that of the tests' process stays."""
    lowered: list[int] = []
    monkeypatch.setattr(os, "nice", lowered.append)
    return lowered


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "expected either --from or --topic"),
        (["--from=x.csv", "--topic=t"], "expected either --from or --topic"),
        (["--topic=t"], "expected also --from-offsets and --to-offsets"),
        (["--topic=t", "--from-offsets=0", "--to-offsets=0:1"], "partition:offset"),
        (["--from=x.csv", "--name=a/b"], "expected letters, digits"),
        (["--from=x.csv", "--format=orc"], "expected one of parquet, csv, json, avro"),
        (["--from=x.csv", "--delimiter=||"], "expected one ASCII character"),
        (["--from=x.csv", "--columns=id"], "expected column=field"),
        (["--from=missing.csv"], "there are no files"),
        (["--from=x.csv", *CLUSTER], "executors on other machines write to it"),
        (["--from=x.csv", "--master=mesos://m", "--shared-warehouse"], "mesos://m"),
        (["--from=x.csv", "--bulk", *CLUSTER, "--shared-warehouse"], "not together with --master"),
        (["--from=x.csv", "--workers=8"], "--workers 8: expected together with --master"),
        (["--from=x.csv", "--archive=a.tar.gz"], "--archive 'a.tar.gz': expected together with"),
        (["--from=x.csv", "--shared-warehouse"], "--shared-warehouse: expected together with"),
    ],
)
def test_wrong_arguments_end_with_one_line(tmp_path: Path, options: list[str], words: str) -> None:
    bed = BackfillBed(tmp_path)

    result = CliRunner().invoke(
        app, ["stream", "backfill", TABLE, "s", f"--warehouse={bed.warehouse}", *options]
    )

    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert bed.table.latest_snapshot() is None


def test_an_error_is_reported_for_the_status_of_the_stream(
    tmp_path: Path, niceness: list[int]
) -> None:
    bed = BackfillBed(tmp_path)
    bed.write_json("a.jsonl", [{"id": 1, "version": 1}, {}])
    arguments = [f"--warehouse={bed.warehouse}", f"--from={bed.files}"]
    rejects = tmp_path / "rejects"

    result = CliRunner().invoke(
        app,
        ["stream", "backfill", TABLE, "s", *arguments, f"--rejects={rejects}", "--rejects-max=0"],
    )

    assert result.exit_code == 2
    assert niceness == [10]
    report = BackfillReports(bed.file_io, bed.warehouse, SystemClock()).read(
        TABLE, "s", ["history"]
    )["history"]
    assert report.state == "STOPPED"
    assert report.error == (
        "refused records: 1, allowed: 0; the last one: missing_key: key column id is missing or null"
    )
    assert json.loads(rejects.read_text())["row"] == 1


def test_a_stream_that_is_not_registered_is_refused_in_one_line(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path)

    result = CliRunner().invoke(
        app,
        ["stream", "backfill", TABLE, "x", f"--warehouse={bed.warehouse}", f"--from={bed.files}"],
    )

    assert result.exit_code == 3, result.exception
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert "x" in line
    assert (
        BackfillReports(bed.file_io, bed.warehouse, SystemClock()).read(TABLE, "x", ["history"])
        == {}
    )


def test_the_status_names_files_without_their_folders(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path / "a secret place")
    bed.write_json("a.jsonl", [{"id": 1, "version": 1}])
    (bed.files / "b.jsonl.gz").write_bytes(b"no gzip")

    result = CliRunner().invoke(
        app,
        ["stream", "backfill", TABLE, "s", f"--warehouse={bed.warehouse}", f"--from={bed.files}"],
    )

    assert result.exit_code == 2
    assert f"{bed.files}/b.jsonl.gz cannot be read" in result.stderr
    report = BackfillReports(bed.file_io, bed.warehouse, SystemClock()).read(
        TABLE, "s", ["history"]
    )["history"]
    assert report.error == "files/b.jsonl.gz cannot be read"
    position = bed.table.committer().stream_positions()["s/backfill/history"]
    assert position.topic == "2 json files of files"


def test_an_error_without_a_message_is_reported_by_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = BackfillBed(tmp_path)
    bed.write_json("a.jsonl", [{"id": 1, "version": 1}, {}])
    rejects = tmp_path / "rejects"

    sync = os.fsync

    def failing(descriptor: int) -> None:
        if rejects.exists() and os.path.samestat(os.fstat(descriptor), rejects.stat()):
            raise OSError
        sync(descriptor)

    monkeypatch.setattr("os.fsync", failing)
    arguments = [f"--warehouse={bed.warehouse}", f"--from={bed.files}", f"--rejects={rejects}"]
    result = CliRunner().invoke(
        app, ["stream", "backfill", TABLE, "s", *arguments, "--rejects-max=0"]
    )

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "error: OSError"
    report = BackfillReports(bed.file_io, bed.warehouse, SystemClock()).read(
        TABLE, "s", ["history"]
    )["history"]
    assert report.error == "OSError"


def test_backfills_of_two_tables_do_not_share_a_file_of_refused_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = BackfillBed(tmp_path)
    bed.write_json("a.jsonl", [{"id": 1, "version": 1}, {}])
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(
        app,
        ["stream", "backfill", TABLE, "s", f"--warehouse={bed.warehouse}", f"--from={bed.files}"],
    )

    assert result.exit_code == 0, result.output
    assert (tmp_path / "shop.parcels.s.history.rejects.jsonl").exists()


def test_executors_do_not_read_files_of_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = BackfillArguments(identifier=TABLE, stream="s", name="n", source="s3://a/b.csv")
    here = replace(elsewhere, source="b.csv")
    check_spread(elsewhere, is_shared=False)
    check_spread(here, is_shared=True)

    with pytest.raises(typer.Exit):
        check_spread(here, is_shared=False)

    assert "--from 'b.csv': executors on other machines read it" in capsys.readouterr().err
