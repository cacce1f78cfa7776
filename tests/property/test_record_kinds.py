"""A stream's upserts, deletes, tombstones and records of other kinds make the rows of a model.

Under any split into micro-batches and any compactions between them, and, where deletes clear columns, in any order of
the micro-batches' records: then the order of the group alone decides, not the order of arrival at the table.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake import Table, parse_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.sink.task_report import parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.schemas import TableSpec
from tests.unit.pipelines.given_streams import given_plan, given_records, given_spec, given_table

FEW = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
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
        removes: Whether deletes remove rows; then records have to come in the order of arrival.
    """

    table: Mapping[str, Any]
    stream: Mapping[str, Any]
    by_version: bool = False
    removes: bool = False


CASES = {
    "ordered": Case(
        table={"deletes": "clear_columns"},
        stream={**KINDS, "on_tombstone": "ignore", "columns": KEYED},
        by_version=True,
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


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@FEW
@given(st.randoms(use_true_random=False))
def test_the_table_has_the_rows_of_the_model(case: Case, chance: random.Random) -> None:
    spec = _with_default(given_spec(COLUMNS, buckets=1, **case.table))
    table = given_table(spec)
    records = [_record(chance) for _ in range(chance.randint(5, 30))]
    batch = given_records(
        [message for _, message in records], keys=[str(key).encode() for key, _ in records]
    )
    order = list(range(len(records)))
    if not case.removes:
        chance.shuffle(order)
    counts = _ingest(table, spec, case, batch.take(pa.array(order)), chance)

    expected = _rows_of_model(case, records)
    assert _rows(table) == expected
    table.compact(full=True)
    assert _rows(table) == expected
    assert counts == _counts_of_model(case, records)


def _with_default(spec: TableSpec) -> TableSpec:
    columns = [c.model_copy(update={"default": "7"} if c.name == "b" else {}) for c in spec.columns]
    return spec.model_copy(update={"columns": tuple(columns)})


def _record(chance: random.Random) -> tuple[int, Any]:
    """Return the key and the value of a record."""
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


def _ingest(
    table: Table, spec: TableSpec, case: Case, records: pa.RecordBatch, chance: random.Random
) -> tuple[int, int, int]:
    """Write records in micro-batches; return how many were written, ignored and refused."""
    counts = [0, 0, 0]
    start = first = 0
    while start < records.num_rows:
        count = chance.randint(1, 12)
        part = records.slice(start, count)
        task = WriteTask(
            plan=given_plan(spec, **case.stream),
            table=table,
            # Nobody listens there: above the bound of dead letters none is sent.
            cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),
            first_sequence_number=first,
            sequence_numbers=count,
            dead_letters_max=0,
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


def _counts_of_model(case: Case, records: Sequence[tuple[int, Any]]) -> tuple[int, int, int]:
    kinds = [_kind(case, value) for _, value in records]
    left_out, refused = kinds.count("left out"), kinds.count("refused")
    return len(kinds) - left_out - refused, left_out, refused


def _rows_of_model(case: Case, records: Sequence[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    newest: dict[int, tuple[int, str, Any]] = {}
    for key, value in records:
        kind = _kind(case, value)
        if kind in ("left out", "refused"):
            continue
        version = value["version"] if case.by_version else 0
        if key not in newest or version >= newest[key][0]:
            newest[key] = version, kind, value
    rows: dict[int, tuple[Any, ...]] = {}
    for key, (_, kind, value) in newest.items():
        if kind == "upsert":
            rows[key] = value["a"], value.get("b", 7), value["version"], "upsert"
        elif not case.removes:
            rows[key] = None, None, value["version"] if case.by_version else None, "clear"
    return rows


def _rows(table: Table) -> dict[int, tuple[Any, ...]]:
    return {
        row["id"]: (row["a"], row["b"], row["version"], row.get("s__op", "upsert"))
        for row in table.scan().to_arrow().to_pylist()
    }
