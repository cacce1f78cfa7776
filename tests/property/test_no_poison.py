"""No record stops its stream, and each is accounted for exactly once."""

import base64
import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import datasketches as ds
import pyarrow as pa
import pytest
from pyroaring import BitMap

from braid.lake import parse_messages, parse_type
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.sink.task_report import TaskReport, parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.records.stream_plan import StreamPlan
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import TableSpec
from tests.property.odd_messages import messages
from tests.unit.records.given_streams import given_origin, given_plan, given_records, given_table

RECORDS = 300
BATCH = 256
EVERY_TYPE = {
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "big": "BIGINT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "price": "DECIMAL(5, 2)",
    "code": "VARCHAR(3)",
    "fixed": "CHAR(2)",
    "text": "STRING",
    "bytes": "VARBINARY(2)",
    "time": "TIME(3)",
    "day": "DATE",
    "moment": "TIMESTAMP(6)",
    "instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "exact": "TIMESTAMP(9)",
    "map": "MAP<STRING, INT>",
    "list": "ARRAY<VARCHAR(2) NOT NULL>",
    "row": "ROW<n INT NOT NULL, days ARRAY<DATE>, m MAP<VARCHAR(2), TIMESTAMP(3)>>",
    "parts": "ARRAY<ROW<t TIME(3), c CHAR(2), b BINARY(2), i TINYINT, p DECIMAL(4, 2)>>",
}
AGGREGATED = {
    "total": ("BIGINT", {"function": "sum"}),
    "product": ("INT", {"function": "product"}),
    "price": ("DECIMAL(5, 2)", {"function": "sum"}),
    "most": ("DATE", {"function": "max"}),
    "all_of": ("BOOLEAN", {"function": "bool_and"}),
    "words": ("STRING", {"function": "listagg"}),
    "items": ("ARRAY<STRING>", {"function": "collect", "distinct": True}),
    "merged": ("MAP<STRING, INT>", {"function": "merge_map"}),
    "nested": (
        "ARRAY<ROW<k INT, v STRING>>",
        {"function": "nested_update", "nested_key": ["k"], "nested_key_null_strategy": "error"},
    ),
    "bits": ("VARBINARY(1000)", {"function": "rbm32"}),
    "sketch": ("VARBINARY(1000)", {"function": "hll_sketch"}),
    "thetas": ("VARBINARY(1000)", {"function": "theta_sketch"}),
    "last": ("STRING", {"function": "last_value"}),
}


def _read_by_functions() -> dict[str, list[str]]:
    """Return what the functions of `bits`, `sketch` and `thetas` read, as messages have bytes."""
    hll, theta = ds.hll_sketch(12, ds.tgt_hll_type.HLL_4), ds.update_theta_sketch(12)
    for number in range(20):
        hll.update(number)
        theta.update(number)
    values = {
        "bits": BitMap(range(20)).serialize(),
        "sketch": hll.serialize_compact(),
        "thetas": theta.compact().serialize(),
    }
    return {name: [base64.b64encode(value).decode()] for name, value in values.items()}


def _columns(types: dict[str, str], **first: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": sql} for name, sql in {**first, **types}.items()]


def _declared() -> Iterator[tuple[str, dict[str, Any]]]:
    yield (
        "partial-update",
        {
            "columns": _columns(EVERY_TYPE, id="INT", version="INT"),
            "primary_key": ["id"],
            "sequence_groups": [
                {"name": "s", "ordering": ["version"], "columns": list(EVERY_TYPE)}
            ],
        },
    )
    yield (
        "deduplicate",
        {
            "columns": _columns(EVERY_TYPE, part="STRING", id="DECIMAL(9, 3)", kind="STRING"),
            "primary_key": ["part", "id"],
            "partition_keys": ["part"],
            "merge_engine": "deduplicate",
            "deletes": "remove_row",
            "options": {"rowkind.field": "kind"},
        },
    )
    yield (
        "first-row",
        {
            "columns": _columns({"note": "STRING"}, day="DATE", id="VARBINARY(4)", kind="STRING"),
            "primary_key": ["day", "id"],
            "partition_keys": ["day"],
            "merge_engine": "first-row",
            "deletes": "ignore",
            "options": {"rowkind.field": "kind"},
        },
    )
    yield (
        "aggregation",
        {
            "columns": [
                {"name": "id", "type": "TIMESTAMP(3)"},
                *(
                    {"name": name, "type": sql, "aggregate": aggregate}
                    for name, (sql, aggregate) in AGGREGATED.items()
                ),
            ],
            "primary_key": ["id"],
            "merge_engine": "aggregation",
            "unordered": "allowed",
        },
    )


@pytest.mark.parametrize("on_new_field", ["ignore", "reject"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("name", "declared"), list(_declared()), ids=lambda value: str(value)[:14])
def test_every_record_is_accounted_for_once(
    name: str, declared: dict[str, Any], seed: int, on_new_field: str
) -> None:
    spec = TableSpec.model_validate({"buckets": 2, **declared})
    assert check_table("db", "t", spec) == [], name
    plan = given_plan(spec, on_new_field=on_new_field)
    source = random.Random(f"{name}{seed}")
    fields = {column.name: parse_type(column.type) for column in spec.columns}
    values = messages(fields, count=RECORDS, source=source, accepted=_read_by_functions())

    report, is_again = _written(spec, plan, values)

    assert report.account.records == RECORDS
    assert report.account.accepted > RECORDS // 20, dict(report.dead_letters)
    assert report.account.dead_lettered > RECORDS // 10
    assert report.refusal is None
    if not is_again:
        assert "refused_row" not in report.dead_letters


def _written(
    spec: TableSpec, plan: StreamPlan, values: list[bytes | None]
) -> tuple[TaskReport, bool]:
    """Read and write messages as a micro-batch does, and commit them; whether it took two attempts."""
    table = given_table(spec)
    records = given_records(values)
    task = WriteTask(
        plan=plan,
        table=table,
        # Nobody listens there; above the limit nothing is sent.
        cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),
        first_sequence_number=0,
        sequence_numbers=len(values),
        dead_letters_max=0,
        origin=given_origin(),
    )
    report = _run(task, records)
    is_again = report.refusal is not None
    if is_again:
        report = _run(dataclasses.replace(task, tries_rows=True), records)
    committed = parse_messages(report.messages[0])
    table.committer().commit(committed, commit_user="s", commit_identifier=0)
    # What was taken is read and merged as well.
    found = table.scan().to_arrow()
    assert found.num_rows <= report.accepted
    table.compact(full=True)
    return report, is_again


def _run(task: WriteTask, records: pa.RecordBatch) -> TaskReport:
    batches = [records.slice(start, BATCH) for start in range(0, records.num_rows, BATCH)]
    (output,) = task(iter(batches))
    (row,) = output.to_pylist()
    return parse_report(row["messages"], row["report"])
