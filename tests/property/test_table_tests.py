"""A table test finds what the tasks of running streams write: the same rows, and the same dead letters in their order.

Records of two streams are random: late, repeated, at odd places, broken, deletes. The task of a stream writes them into a
table, batch by batch. A test that expects the rows and dead letters of that table passes, and fails if one value is changed.
"""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from braid.formats.json_values import json_row
from braid.lake import ManualClock, Table, parse_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.sink.task_report import parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.records.sample_batch import PLACE, sample_batch
from braid.records.stream_plan import plan_stream
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import CaseOutcome, GivenRecord, TableTest
from braid.service.control.table_tests.given_records import batches_of, placed_records
from braid.service.control.table_tests.table_run import run_tests
from tests.unit.records.given_streams import given_origin, given_table
from tests.unit.registry.shop import orders
from tests.unit.service.control.table_tests.shop_tests import document

DOCUMENT = document(
    orders(deletes="clear_columns"),
    sales={"delete_when": "op = 'd'", "where": "op != 'other'", "on_null_ordering": "clear"},
    payments={},
)
KEYS = [{"id": number, "region": "eu"} for number in range(4)]


def random_record(chance: random.Random) -> dict[str, Any]:
    """Return a record of one of the streams."""
    key = chance.choice(KEYS)
    place: dict[str, Any] = {"partition": chance.randint(0, 1)}
    if chance.random() < 0.3:
        place["offset"] = chance.randint(0, 20)
    if chance.random() < 0.5:
        place["timestamp_ms"] = chance.randint(0, 1 << 41)
    if chance.random() < 0.05:
        return {"stream": chance.choice(["sales", "payments"]), "value": "{", **place}
    if chance.random() < 0.5:
        paid = chance.choice([None, "x", *range(9)])
        return {"stream": "payments", "value": {**key, "paid": paid}, **place}
    value = {
        **key,
        "order_version": chance.choice([None, "x", *range(9)]),
        "total": chance.choice([None, "y", *range(9)]),
        "op": chance.choice("ccccd") if chance.random() < 0.9 else "other",
    }
    return {"stream": "sales", "value": value, **place}


def written(given: Sequence[dict[str, Any]]) -> tuple[Table, list[dict[str, str]]]:
    """Return a table after the records, written by the tasks of the streams, and the dead letters in their order."""
    table = given_table(DOCUMENT.table)
    letters: list[dict[str, str]] = []
    records = placed_records([GivenRecord.model_validate(one) for one in given])
    count = 0
    for stream, batch in batches_of(records, are_single=False):
        plan = plan_stream(
            table=DOCUMENT.identifier,
            spec=DOCUMENT.table,
            stream=DOCUMENT.streams[stream].spec,
            schema=table.schema,
        )
        for record in batch:
            # Each in a task of its own, whose report then has the reason of this record.
            task = WriteTask(
                plan=plan,
                table=table,
                cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),
                first_sequence_number=count,
                sequence_numbers=1,
                dead_letters_max=0,
                origin=given_origin(),
            )
            count += 1
            (output,) = task(iter([sample_batch([record]).drop_columns([PLACE])]))
            (row,) = output.to_pylist()
            report = parse_report(row["messages"], row["report"])
            letters += [{"stream": stream, "reason": reason} for reason in report.dead_letters]
            messages = [one for part in report.messages for one in parse_messages(part)]
            if messages:
                table.committer().commit(messages, commit_user=stream)
    return table, letters


def expected(table: Table, letters: list[dict[str, str]]) -> dict[str, Any]:
    """Return the expectation of a test for what a table has."""
    fields = shown_fields(table.schema)
    rows = {row["id"]: json_row(row, fields) for row in table.scan().to_arrow().to_pylist()}
    return {
        "rows": [
            {"key": key, "row": rows[key["id"]]}
            if key["id"] in rows
            else {"key": key, "exists": False}
            for key in KEYS
        ],
        "row_count": len(rows),
        "dead_letters": letters,
    }


@pytest.mark.parametrize("seed", range(12))
def test_a_test_expects_what_the_tasks_of_streams_write(seed: int) -> None:
    chance = random.Random(seed)
    given = [random_record(chance) for _ in range(chance.randint(1, 25))]
    expect = expected(*written(given))

    def run(wanted: dict[str, Any]) -> CaseOutcome:
        case = TableTest.model_validate({"name": "a", "given": given, "expect": wanted})
        (result,) = run_tests(DOCUMENT, [case], clock=ManualClock()).cases
        assert result.message is None
        if wanted is expect:
            assert result.differences == ()
        return result.outcome

    assert run(expect) is CaseOutcome.PASSED
    assert run(expect | {"row_count": expect["row_count"] + 1}) is CaseOutcome.FAILED
    for index, row in enumerate(expect["rows"]):
        if "row" in row:
            column = chance.choice(list(row["row"]))
            other = row | {"row": row["row"] | {column: "another value"}}
            rows = [*expect["rows"][:index], other, *expect["rows"][index + 1 :]]
            assert run(expect | {"rows": rows}) is CaseOutcome.FAILED
            break
