"""Golden tables: directories that Paimon wrote, read through the engine and never written to.

The rows expected after a step are the state of the last snapshot of that step, so every snapshot that the
table still has is checked by time travel, and the current rows besides. What each of them changed is a check of
its own, and so are tags and branches, which the engine cannot be asked for yet, so that one does not hide the other.
"""

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from lake import LocalFileIO, Machine, Table, UnsupportedFeature
from tests.conformance.case import Case, Column, parse_case
from tests.conformance.changelog import changelog_difference
from tests.conformance.compare import difference
from tests.conformance.outcome import Mismatch, NotYet, unsupported

Check = Callable[[Machine], None]


def golden_checks(folder: Path) -> Iterator[tuple[str, Check]]:
    """Yield name and check: the table's rows at every snapshot first, then what needs more.

    Args:
        folder: Holds `table/`, a table directory, and `expected.json`, a case object.
    """
    raw = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    case = parse_case(raw)
    yield case.id, functools.partial(_check_rows, case, folder / "table")
    if "changelog" in raw:
        yield f"{case.id}:changelog", functools.partial(_check_changes, case, folder / "table")
    for part in ("tag", "branch"):
        if any(step.kind == part for step in case.steps):
            yield f"{case.id}:{part}", functools.partial(_not_yet, f"read of a {part}")


def _check_rows(case: Case, path: Path, machine: Machine) -> None:
    try:
        table = Table.open(str(path), file_io=LocalFileIO())
        latest = _latest_snapshot(path)
        for step in case.steps:
            outcome = step.expected or {}
            for snapshot_id, kind in outcome.get("snapshots", []):
                if _snapshot_file(path, snapshot_id).exists():
                    _check_kind(table, snapshot_id, kind)
            last = max((entry[0] for entry in outcome.get("snapshots", [])), default=None)
            if last is None or "rows" not in outcome or not _snapshot_file(path, last).exists():
                continue
            rows = table.scan(snapshot_id=last, machine=machine).to_arrow()
            schema = _schema_of_snapshot(path, last)
            _compare(case, f"snapshot {last}", outcome["rows"], rows, schema)
        rows = table.scan(machine=machine).to_arrow()
    except UnsupportedFeature as error:
        raise unsupported(error) from error
    schema = _schema_of_snapshot(path, latest)
    _compare(case, "current rows", case.raw["final_rows"], rows, schema)


def _check_changes(case: Case, path: Path, _machine: Machine) -> None:
    """Compare what each snapshot that is kept has changed; nothing is merged for it."""
    try:
        table = Table.open(str(path), file_io=LocalFileIO())
        for step in case.steps:
            outcome = step.expected or {}
            told = dict(outcome.get("changelog", []))
            for number, _ in outcome.get("snapshots", []) if "changelog" in outcome else []:
                if _snapshot_file(path, number).exists():
                    _check_changes_of(case, path, table, number, told.get(number, []))
    except UnsupportedFeature as error:
        raise unsupported(error) from error


def _check_changes_of(
    case: Case, path: Path, table: Table, snapshot_id: int, rows: list[Any]
) -> None:
    found = changelog_difference(
        [[snapshot_id, rows]] if rows else [],
        table.changes(snapshot_id - 1, snapshot_id),
        schema=_schema_of_snapshot(path, snapshot_id),
        key=case.primary_key,
        hints=case.compare,
    )
    if found is not None:
        raise Mismatch(found)


def _check_kind(table: Table, snapshot_id: int, kind: str) -> None:
    found = table.snapshot(snapshot_id).commit_kind
    if str(found) != kind:
        message = f"snapshot {snapshot_id} has kind {found}, expected {kind}"
        raise Mismatch(message)


def _compare(case: Case, what: str, expected: list[Any], rows: pa.Table, schema: pa.Schema) -> None:
    found = difference(expected, rows, schema=schema, hints=case.compare)
    if found is not None:
        message = f"{what}: {found}"
        raise Mismatch(message)


def _snapshot_file(path: Path, snapshot_id: int) -> Path:
    return path / "snapshot" / f"snapshot-{snapshot_id}"


def _latest_snapshot(path: Path) -> int:
    # By listing, not by the hint: the hint is for the engine to find its way with.
    names = (file.name for file in (path / "snapshot").glob("snapshot-*"))
    return max(int(name.removeprefix("snapshot-")) for name in names)


def _schema_of_snapshot(path: Path, snapshot_id: int) -> pa.Schema:
    snapshot = json.loads(_snapshot_file(path, snapshot_id).read_text(encoding="utf-8"))
    schema_file = path / "schema" / f"schema-{snapshot['schemaId']}"
    fields = json.loads(schema_file.read_text(encoding="utf-8"))["fields"]
    columns = [Column(name=field["name"], type_json=field["type"]) for field in fields]
    return pa.schema([column.arrow_field for column in columns])


def _not_yet(what: str, _machine: Machine) -> None:
    raise NotYet(what)
