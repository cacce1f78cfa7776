"""Golden tables: directories that Paimon wrote, read through the engine and never written to.

The rows expected after a step are the state of the last snapshot of that step, so every snapshot that the
table still has is checked by time travel, and the current rows besides. What each of them changed is a check of
its own, and so are tags, branches and orphan cleaning, so that one does not hide the other.
"""

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from braid.lake import LocalFileIO, Machine, ReadAt, Table, UnsupportedFeature
from braid.lake.snapshots.schema_store import SchemaStore
from tests.conformance.case import Case, Column, parse_case
from tests.conformance.changelog import changelog_difference
from tests.conformance.compare import difference
from tests.conformance.outcome import Mismatch, unsupported

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
            yield f"{case.id}:{part}", functools.partial(_check_named, part, case, folder / "table")
    yield f"{case.id}:lookup", functools.partial(_check_lookups, folder / "table")
    yield f"{case.id}:files", functools.partial(_check_files, folder / "table")


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
            rows = table.scan(at=last, machine=machine).to_arrow()
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


def _check_named(part: str, case: Case, path: Path, machine: Machine) -> None:
    """Compare the rows of every tag or branch that a step reads, and of the branch that one writes."""
    try:
        table = Table.open(str(path), file_io=LocalFileIO())
        for step in case.steps:
            outcome = step.expected or {}
            query = step.action.get("read", {})
            if part == "branch" and step.kind == "write_branch":
                name, expected = step.action["write_branch"], outcome["branch_rows"]
            elif part in query:
                name, expected = query[part], outcome["rows"]
            else:
                continue
            if part == "tag":
                scan = table.scan(at=ReadAt(tag=name), machine=machine)
                schema = _schema_of_file(path, path / "tag" / f"tag-{name}")
            else:
                scan = table.branch(name).scan(machine=machine)
                schema = _schema_of_snapshot(path, _latest_snapshot(path))
            _compare(case, f"{part} {name}", expected, scan.to_arrow(), schema)
    except UnsupportedFeature as error:
        raise unsupported(error) from error


def _check_lookups(path: Path, machine: Machine) -> None:
    """Look for every key of every snapshot: together, and some alone."""
    try:
        table = Table.open(str(path), file_io=LocalFileIO())
        for file in sorted((path / "snapshot").glob("snapshot-*")):
            number = int(file.name.removeprefix("snapshot-"))
            rows = table.scan(at=number, machine=machine).to_arrow()
            keys = rows.select(list(table.schema.primary_keys))
            at = table.lookup_at(number)
            for begin, count in ((0, rows.num_rows), (0, 1), (rows.num_rows // 2, 1)):
                found = at.rows(keys.slice(begin, count)).to_pylist()
                if repr(found) != repr(rows.slice(begin, count).to_pylist()):
                    message = f"snapshot {number}: rows by key are not those of a scan"
                    raise Mismatch(message)
    except UnsupportedFeature as error:
        raise unsupported(error) from error


def _check_files(path: Path, _machine: Machine) -> None:
    """Look for files that nothing names: Paimon has left none, so every one found would be a loss."""
    try:
        table = Table.open(str(path), file_io=LocalFileIO())
        found = table.clean_orphans(min_age_ms=0).files
    except UnsupportedFeature as error:
        raise unsupported(error) from error
    if found:
        message = f"{len(found)} files are taken for orphans, the first is {found[0].path}"
        raise Mismatch(message)


def _check_changes_of(
    case: Case, path: Path, table: Table, snapshot_id: int, rows: list[Any]
) -> None:
    changes = table.changes(snapshot_id - 1, snapshot_id)
    # The rows are those of the columns that there were then.
    then = SchemaStore(LocalFileIO(), table.paths).get(table.snapshot(snapshot_id).schema_id)
    found = changelog_difference(
        [[snapshot_id, rows]] if rows else [],
        replace(changes, schema=then, columns=then.field_names),
        schema=_schema_of_snapshot(path, snapshot_id),
        key=then.primary_keys,
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
    return _schema_of_file(path, _snapshot_file(path, snapshot_id))


def _schema_of_file(path: Path, file: Path) -> pa.Schema:
    snapshot = json.loads(file.read_text(encoding="utf-8"))
    schema_file = path / "schema" / f"schema-{snapshot['schemaId']}"
    fields = json.loads(schema_file.read_text(encoding="utf-8"))["fields"]
    columns = [Column(name=field["name"], type_json=field["type"]) for field in fields]
    return pa.schema([column.arrow_field for column in columns])
