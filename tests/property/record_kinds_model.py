"""A stream of upserts, deletes, tombstones and records of other kinds, and the rows that have to come of it."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.lake import Table, parse_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.sink.task_report import parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.schemas import TableSpec
from tests.unit.records.given_streams import given_origin, given_plan, given_records, given_spec

KEYS = 4
COLUMNS = {"id": "BIGINT", "a": "STRING", "b": "INT", "version": "INT"}
KEYED = [{"column": "id", "source": "key"}, *({"column": name} for name in [*COLUMNS][1:])]
KINDS = {"where": "kind <> 'other'", "delete_when": "op = 'd'"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table, a stream, and how its records are ordered.

    Attributes:
        table: Of the declaration of the table.
        stream: Of the declaration of the stream.
        by_version: Whether the version orders the records, before arrival.
        keeps: Whether a row keeps its older `b` where a record has none.
        removes: Whether deletes remove rows; then records have to come in the order of arrival.
    """

    table: Mapping[str, Any]
    stream: Mapping[str, Any]
    by_version: bool = False
    removes: bool = False
    keeps: bool = False


CASES = {
    "ordered": Case(
        table={"deletes": "clear_columns"},
        stream={**KINDS, "on_tombstone": "ignore", "columns": KEYED},
        by_version=True,
    ),
    "kept": Case(
        table={
            "deletes": "clear_columns",
            "sequence_groups": [
                {"name": "s", "ordering": ["version"], "columns": ["a", "b"], "keep": ["b"]}
            ],
        },
        stream={**KINDS, "on_tombstone": "ignore", "columns": KEYED},
        by_version=True,
        keeps=True,
    ),
    "arrival": Case(
        table={"deletes": "clear_columns", "ordering": None},
        stream={**KINDS, "on_tombstone": "clear_columns", "columns": KEYED},
    ),
    "removed": Case(
        table={"deletes": "remove_row", "ordering": None},
        stream={**KINDS, "on_tombstone": "remove_row", "columns": KEYED},
        removes=True,
    ),
    "whole rows": Case(
        table={"merge_engine": "deduplicate", "sequence_groups": []},
        stream={**KINDS, "on_tombstone": "remove_row", "columns": KEYED},
        removes=True,
    ),
}


def spec_of(case: Case) -> TableSpec:
    """Return the table of a case; column `b` has a default unless it is kept."""
    spec = given_spec(COLUMNS, buckets=1, **case.table)
    if case.keeps:
        return spec
    columns = [c.model_copy(update={"default": "7"} if c.name == "b" else {}) for c in spec.columns]
    return spec.model_copy(update={"columns": tuple(columns)})


def random_records(chance: random.Random, count: int) -> list[tuple[int, Any]]:
    """Return records in the order of their offsets, each as its key and its value."""
    return [_record(chance) for _ in range(count)]


def as_batch(records: Sequence[tuple[int, Any]]) -> pa.RecordBatch:
    """Return records as Spark passes them to a task."""
    return given_records(
        [message for _, message in records], keys=[str(key).encode() for key, _ in records]
    )


def _record(chance: random.Random) -> tuple[int, Any]:
    version = chance.randint(1, 3)
    message = {"kind": "row", "op": "u", "version": version, "a": f"text {chance.random()}"}
    if chance.random() < 0.5:
        message["b"] = chance.randrange(9)
    value: Any = chance.choices(
        [
            message,
            {"kind": "row", "op": "d", "version": version, "a": ["not", "a", "text"], "b": "none"},
            None,
            {"kind": "other", "op": "d", "version": "not a number"},
            {"op": "d", "version": version},
            b"{",
            {"kind": "row", "op": True, "version": "x"},
        ],
        weights=[8, 3, 2, 1, 1, 1, 1],
    )[0]
    return chance.randrange(KEYS), value


def ingest(
    table: Table, case: Case, records: pa.RecordBatch, chance: random.Random
) -> tuple[int, int, int]:
    """Write records in micro-batches, and compact in between; return how many were written, ignored and refused."""
    plan = given_plan(spec_of(case), **case.stream)
    counts = [0, 0, 0]
    start = first = 0
    while start < records.num_rows:
        count = chance.randint(1, 12)
        part = records.slice(start, count)
        task = WriteTask(
            plan=plan,
            table=table,
            # Nobody listens there: above the bound of dead letters none is sent.
            cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),
            first_sequence_number=first,
            sequence_numbers=count,
            dead_letters_max=0,
            origin=given_origin(),
            tries_rows=chance.random() < 0.2,
        )
        (output,) = task(iter([part.slice(0, count // 2), part.slice(count // 2)]))
        (row,) = output.to_pylist()
        report = parse_report(row["messages"], row["report"])
        assert report.account.records == part.num_rows
        counts[0] += report.accepted + report.folded
        counts[1] += report.ignored
        counts[2] += report.account.dead_lettered
        messages = parse_messages(report.messages[0])
        if messages:
            table.committer().commit(messages, commit_user=f"user {start}")
        if chance.random() < 0.3:
            table.compact(full=chance.random() < 0.5)
        start, first = start + count, first + count
    return counts[0], counts[1], counts[2]


def _kind(case: Case, value: Any) -> str:
    if value is None:
        return "left out" if case.stream["on_tombstone"] == "ignore" else "delete"
    if value == b"{":
        return "refused"
    if value.get("kind", "other") == "other":
        return "left out"
    if value["version"] == "x":
        return "refused"
    return "delete" if value["op"] == "d" else "upsert"


def counts_of_model(case: Case, records: Sequence[tuple[int, Any]]) -> tuple[int, int, int]:
    """Return how many records are written, ignored and refused."""
    kinds = [_kind(case, value) for _, value in records]
    left_out, refused = kinds.count("left out"), kinds.count("refused")
    return len(kinds) - left_out - refused, left_out, refused


def rows_of_model(case: Case, records: Sequence[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    """Return by key what the row has in `a`, `b`, `version` and `s__op`."""
    newest: dict[int, tuple[int, str, Any]] = {}
    kept: dict[int, tuple[int, Any]] = {}
    for key, value in records:
        kind = _kind(case, value)
        if kind in ("left out", "refused"):
            continue
        version = value["version"] if case.by_version else 0
        if key not in newest or version >= newest[key][0]:
            newest[key] = version, kind, value
        sets_b = kind == "delete" or "b" in value
        if sets_b and version >= kept.get(key, (0, None))[0]:
            kept[key] = version, value["b"] if kind == "upsert" else None
    rows: dict[int, tuple[Any, ...]] = {}
    for key, (_, kind, value) in newest.items():
        b = kept.get(key, (0, None))[1]
        if kind == "upsert":
            found = b if case.keeps else value.get("b", 7)
            rows[key] = value["a"], found, value["version"], "upsert"
        elif not case.removes:
            rows[key] = None, None, value["version"] if case.by_version else None, "clear"
    return rows


def rows_of_table(rows: Iterable[Mapping[str, Any]]) -> dict[int, tuple[Any, ...]]:
    """Return the same of the rows of a table."""
    return {
        row["id"]: (row["a"], row["b"], row["version"], row.get("s__op", "upsert")) for row in rows
    }
