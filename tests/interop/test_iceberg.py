"""pyiceberg reads our compacted rows; Java's own Iceberg metadata say the same, and either continues the other's."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    DropColumn,
    ReadAt,
    RenameColumn,
    Table,
    UpdateColumnType,
    parse_type,
)
from braid.lake.iceberg.avro_files import decode_list, decode_manifest
from tests.interop.iceberg_reader import PACKAGES, Question, ask
from tests.interop.java_driver import JavaDriver
from tests.interop.java_history import CASE
from tests.interop.ours import open_table
from tests.support.doc_examples import ROOT, doc_examples

pytestmark = [pytest.mark.interop]

ON = {"bucket": "2", "metadata.iceberg.storage": "table-location"}
EVERY_TYPE = [
    ("p", "STRING"),
    ("k", "BIGINT"),
    ("boolean", "BOOLEAN"),
    ("tiny", "TINYINT"),
    ("small", "SMALLINT"),
    ("int", "INT"),
    ("float", "FLOAT"),
    ("double", "DOUBLE"),
    ("char", "CHAR(3)"),
    ("bytes", "BYTES"),
    ("short", "DECIMAL(9, 2)"),
    ("long", "DECIMAL(38, 10)"),
    ("date", "DATE"),
    ("millis", "TIMESTAMP(3)"),
    ("micros", "TIMESTAMP(6)"),
    ("zoned", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    ("list", "ARRAY<INT>"),
    ("map", "MAP<STRING, ARRAY<BIGINT>>"),
    ("set", "MULTISET<STRING>"),
    ("row", "ROW<a INT, b ARRAY<ROW<c STRING>>>"),
]
START = datetime(2024, 2, 29, 23, 59, 59, 123_000, tzinfo=UTC).replace(tzinfo=None)


def row(number: int, *, is_null: bool = False) -> dict[str, Any]:
    key = {"p": f"p{number % 3}", "k": number}
    if is_null:
        return key
    at = START + timedelta(seconds=number)
    return {
        **key,
        "boolean": number % 2 == 0,
        "tiny": number - 60,
        "small": number - 300,
        "int": -number,
        "float": number / 4,
        "double": -number / 3,
        "char": "abc",
        "bytes": bytes([number]),
        "short": Decimal(number - 50) / 100,
        "long": Decimal(number) * 10**20,
        "date": date(1970, 1, 1) - timedelta(days=number),
        "millis": at,
        "micros": at + timedelta(microseconds=456),
        "zoned": at.replace(tzinfo=UTC),
        "list": [number, None],
        "map": [("a", [number])],
        "set": [("z", number)],
        "row": {"a": number, "b": [{"c": "x"}]},
    }


def write(table: Table, *rows: Mapping[str, Any]) -> None:
    table.write_and_commit(pa.Table.from_pylist(list(rows), schema=table.schema.arrow_schema))


@dataclass(frozen=True, kw_only=True)
class Case:
    """What pyiceberg is to find, and where.

    Attributes:
        question: For pyiceberg.
        rows: Ours, by the key.
    """

    question: Question
    rows: pa.Table


def metadata(table: Table) -> str:
    return f"{table.path}/metadata"


def ours(table: Table, at: ReadAt | None = None) -> pa.Table:
    return table.scan(at=at).to_arrow()


def sorted_rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda found: (found["p"], found["k"]))


def every_type(catalog: Catalog) -> list[Case]:
    table = catalog.create_table(
        "db.types",
        columns=EVERY_TYPE,
        primary_key=["p", "k"],
        partition_keys=["p"],
        options=ON,
    )
    write(table, *(row(number, is_null=number > 90) for number in range(100)))
    table.compact()
    write(table, *(row(number) for number in range(0, 100, 7)))
    table.compact()
    where = metadata(table)
    rows = ours(table)
    some = [found for found in rows.to_pylist() if found["p"] == "p1" and found["k"] < 9]
    return [
        Case(question=Question(directory=where), rows=rows),
        Case(
            question=Question(directory=where, row_filter="p == 'p1' and k < 9"),
            rows=pa.Table.from_pylist(some, schema=rows.schema),
        ),
        Case(
            question=Question(directory=where, row_filter="zoned < '2024-02-29T23:59:59+00:00'"),
            rows=rows.slice(0, 0),
        ),
    ]


def partition_types(catalog: Catalog) -> list[Case]:
    columns = [
        ("d", "DATE"),
        ("n", "DECIMAL(9, 2)"),
        ("i", "INT"),
        ("b", "BOOLEAN"),
        ("p", "STRING"),
        ("k", "INT"),
        ("v", "INT"),
    ]
    keys = ["d", "n", "i", "b"]
    table = catalog.create_table(
        "db.partitions",
        columns=columns,
        primary_key=[*keys, "p", "k"],
        partition_keys=keys,
        options=ON,
    )
    given = [
        {
            "d": date(2024, 1, 1 + number),
            "n": Decimal(number - 1) / 4,
            "i": number - 1,
            "b": bool(number % 2),
            "p": "p",
            "k": number,
            "v": number,
        }
        for number in range(3)
    ]
    write(table, *given)
    table.compact()
    write(table, given[1])
    table.compact()
    found = ours(table)
    first = pa.Table.from_pylist(given[:1], schema=found.schema)
    return [
        Case(question=Question(directory=metadata(table)), rows=found),
        Case(
            question=Question(directory=metadata(table), row_filter="n < 0 and d < '2024-01-02'"),
            rows=first,
        ),
    ]


def evolved(catalog: Catalog) -> list[Case]:
    table = catalog.create_table(
        "db.evolved",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT"), ("w", "STRING"), ("gone", "INT")],
        primary_key=["p", "k"],
        options=ON,
    )
    for number in range(4):
        write(table, {"p": "a", "k": number, "v": number, "w": "w", "gone": 1})
    table.compact()
    first = ours(table)
    table.create_tag("before")
    table.alter(
        AddColumn(path=("added",), type=parse_type("ROW<x INT>")),
        RenameColumn(path=("w",), name="renamed"),
        DropColumn(path=("gone",)),
        UpdateColumnType(path=("v",), type=parse_type("BIGINT")),
    )
    table.rescale(3)
    write(table, {"p": "a", "k": 1, "v": 1 << 40, "renamed": "new", "added": {"x": 5}})
    table.compact(buckets=None, full=True)
    newest = ours(table)
    return [
        Case(question=Question(directory=metadata(table)), rows=newest),
        Case(question=Question(directory=metadata(table), tag="before"), rows=first),
        Case(
            question=Question(directory=metadata(table), row_filter=f"v == {1 << 40}"),
            rows=pa.Table.from_pylist(
                [found for found in newest.to_pylist() if found["v"] == 1 << 40],
                schema=newest.schema,
            ),
        ),
    ]


def deleted_and_expired(catalog: Catalog) -> list[Case]:
    table = catalog.create_table(
        "db.expired",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT")],
        primary_key=["p", "k"],
        options={**ON, "metadata.iceberg.manifest-legacy-version": "true"},
    )
    states = []
    for step in range(4):
        write(table, *({"p": "a", "k": number, "v": step} for number in range(step, 8)))
        table.write_and_commit(
            pa.table(
                {"p": ["a"], "k": pa.array([step], pa.int32()), "v": pa.array([0], pa.int32())}
            ),
            kinds=pa.array([3], pa.int8()),
        )
        table.compact()
        states.append(ours(table))
        if step == 1:
            table.create_tag("one")
    table.expire(retain_min=1, retain_max=1, older_than_ms=1 << 60)
    table.clean_orphans(min_age_ms=0, delete=True)
    return [
        Case(question=Question(directory=metadata(table)), rows=states[-1]),
        Case(question=Question(directory=metadata(table), tag="one"), rows=states[1]),
    ]


def in_a_hadoop_catalog(catalog: Catalog) -> list[Case]:
    table = catalog.create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT")],
        primary_key=["p", "k"],
        options={
            "bucket": "1",
            "metadata.iceberg.storage": "hadoop-catalog",
            "metadata.iceberg.manifest-compression": "zstd",
        },
    )
    write(table, {"p": "a", "k": 1, "v": 1})
    table.compact()
    before = table.latest_snapshot()
    assert before is not None
    first = ours(table)
    write(table, {"p": "a", "k": 1, "v": 2})
    table.compact()
    where = str(Path(table.path).parent.parent / "iceberg/db/t/metadata")
    return [
        Case(question=Question(directory=where), rows=ours(table)),
        Case(question=Question(directory=where, snapshot=before.id), rows=first),
    ]


def test_pyiceberg_reads_the_compacted_rows(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    cases = [
        case
        for made in (every_type, partition_types, evolved, deleted_and_expired, in_a_hadoop_catalog)
        for case in made(catalog)
    ]

    found = ask([case.question for case in cases])

    for case, rows in zip(cases, found, strict=True):
        assert sorted_rows(rows) == sorted_rows(case.rows), case.question


JAVA_ON = {
    "bucket": "2",
    "write-only": "true",
    "metadata.iceberg.storage": "table-location",
    # The released library comes without the native code of the default.
    "metadata.iceberg.manifest-compression": "deflate",
}


def document(path: Path) -> dict[str, Any]:
    """Return the newest metadata, without what differs by chance."""
    version = (path / "metadata/version-hint.text").read_text()
    found: dict[str, Any] = json.loads((path / f"metadata/v{version}.metadata.json").read_text())
    return found


def shape(path: Path) -> dict[str, Any]:
    """Return what the metadata of a table say: all but ids of tables and times."""
    found = document(path)
    (current,) = [
        snapshot
        for snapshot in found["snapshots"]
        if snapshot["snapshot-id"] == found["current-snapshot-id"]
    ]
    manifests = decode_list(Path(current["manifest-list"].removeprefix("file:")).read_bytes())
    entries = [
        entry
        for manifest in manifests
        for entry in decode_manifest(Path(manifest.path.removeprefix("file:")).read_bytes())
        if entry.is_live
    ]
    same = (
        "format-version",
        "last-sequence-number",
        "last-column-id",
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
        "current-snapshot-id",
        "refs",
    )
    return {
        **{key: found[key] for key in same},
        "location": found["location"].removeprefix("file:"),
        "partitions": sorted(
            {summary for manifest in manifests for summary in manifest.partitions}, key=repr
        ),
        "files": {
            entry.file.name: (
                entry.file.path.removeprefix("file:"),
                entry.file.file_format,
                entry.file.partition,
                entry.file.record_count,
                entry.file.size,
                entry.file.null_counts,
                entry.file.lower_bounds,
                entry.file.upper_bounds,
            )
            for entry in entries
        },
    }


def create(java: JavaDriver, path: Path, options: Mapping[str, str]) -> None:
    java.do("create", path, case={**CASE, "options": {**JAVA_ON, **options}})


def java_table(java: JavaDriver, path: Path) -> None:
    """Have Java write a table, compact it fully and publish."""
    create(java, path, {})
    for number in range(3):
        java.write(path, [["+I", f"p{k % 2}", k, number] for k in range(number, 6)])
    java.write(path, [["-D", "p0", 2, 0]])
    java.do("compact", path, mode="full")


def test_our_metadata_say_what_javas_say(java: JavaDriver, tmp_path: Path) -> None:
    path = tmp_path / "db.db" / "t"
    java_table(java, path)
    java.do("tag", path, name="early", snapshot=int(java.do("snapshots", path)[-1][0]))
    by_java = shape(path)
    shutil.rmtree(path / "metadata")

    table = open_table(path)
    table.expire()  # which publishes what was not
    table.delete_tag("early")
    table.create_tag("early")

    assert shape(path) == by_java
    assert by_java["refs"]
    assert by_java["files"]


def test_each_engine_continues_the_metadata_of_the_other(java: JavaDriver, tmp_path: Path) -> None:
    path = tmp_path / "db.db" / "t"
    java_table(java, path)
    java_document = document(path)

    table = open_table(path)
    write(table, {"p": "p0", "k": 0, "v": 77}, {"p": "p9", "k": 1, "v": 1})
    table.compact()

    ours_after_java = document(path)
    assert ours_after_java["table-uuid"] == java_document["table-uuid"]
    by_us, found = ours(table), ask([Question(directory=metadata(table))])[0]
    assert sorted_rows(found) == sorted_rows(by_us)

    java.write(path, [["+I", "p1", 1, 88]])
    java.do("compact", path, mode="full")
    # Java takes our metadata as its base, since they have the snapshot right before its own.
    java_after_us = document(path)
    assert java_after_us["table-uuid"] == java_document["table-uuid"]
    assert ours_after_java["current-snapshot-id"] in [
        snapshot["snapshot-id"] for snapshot in java_after_us["snapshots"]
    ]
    after = open_table(path)
    after.expire()
    questions = [Question(directory=metadata(after))]
    by_java = ask(questions)[0]
    assert sorted_rows(by_java) == sorted_rows(ours(after))
    assert {"p": "p1", "k": 1, "v": 88} in by_java.to_pylist()
    write(after, {"p": "p1", "k": 1, "v": 99})
    after.compact()
    assert sorted_rows(ask(questions)[0]) == sorted_rows(ours(after))
    assert json_rows_of(java, path) == [list(found.values()) for found in sorted_rows(ours(after))]
    assert java.do("orphans", path) == []


def json_rows_of(java: JavaDriver, path: Path) -> list[list[Any]]:
    return sorted([values[-3:] for values in java.rows(path)], key=lambda row: (row[0], row[1]))


def test_the_examples_of_the_guide_print_what_it_shows(tmp_path: Path) -> None:
    page = ROOT / "docs/how-to/read-as-iceberg.md"
    (made,), (read,) = doc_examples(page, "python"), doc_examples(page, "pyiceberg")
    program = tmp_path / "examples.py"
    program.write_text(f"{made.text}\n{read.text}")

    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{PACKAGES}", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"[7, 8, 9]\n{read.printed}"
