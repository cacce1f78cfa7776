"""A task writes accepted records, counts every record, and cleans up after a failure."""

import base64
import json
from collections.abc import Sequence
from contextlib import _GeneratorContextManager
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from braid.formats.schema_registry.schema_source import SchemaKind
from braid.lake import MemoryFileIO, StorageUnavailable, Table, parse_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.sink.task_report import TaskReport, parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.new_fields.value_shape import shape_of
from braid.records.poison_records import POISON_MAX
from braid.records.stream_plan import StreamPlan
from braid.schemas import AggregateSpec, TableSpec
from tests.support.given_schemas import BROKEN, DOWN, BrokenSchemas, GivenSchemas, framed
from tests.unit.records.given_streams import (
    AT,
    given_origin,
    given_plan,
    given_records,
    given_spec,
    given_table,
)

SPEC = given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1)
ROW = {"id": 1, "a": "x", "version": 1}
# A table that accepts less than the plan says: another engine has changed it since.
NARROW = given_spec({"id": "BIGINT", "a": "VARCHAR(1)", "version": "INT"}, buckets=1)


def _rows(*rows: Sequence[Any]) -> pa.RecordBatch:
    """Return records of `SPEC` from the values of its columns."""
    return given_records([dict(zip(ROW, row, strict=True)) for row in rows])


def _task(**given: Any) -> WriteTask:
    arguments = {
        "plan": given_plan(SPEC),
        "table": given_table(SPEC),
        # Nobody listens there: a test in which a letter is sent would fail.
        "cluster": KafkaCluster(bootstrap_servers="127.0.0.1:1"),
        "first_sequence_number": 100,
        "sequence_numbers": 10,
        "dead_letters_max": 0,
        "origin": given_origin(),
    }
    return WriteTask(**(arguments | given))  # type: ignore[arg-type]


def _run(task: WriteTask, *batches: pa.RecordBatch) -> TaskReport:
    (output,) = task(iter(batches))
    (row,) = output.to_pylist()
    return parse_report(row["messages"], row["report"])


def test_every_record_is_accepted_or_folded() -> None:
    report = _run(_task(), _rows((1, "x", 1), (2, "y", 1)), _rows((1, "z", 2)))

    (message,) = parse_messages(report.messages[0])
    assert (report.accepted, report.folded, report.dead_letters) == (2, 1, {})
    assert sum(file.row_count for file in message.new_files) == 2
    assert report.max_sequence_number == 102
    assert report.newest_ms == int(AT.timestamp() * 1_000)


def test_a_value_that_its_function_cannot_read_is_a_dead_letter() -> None:
    """Written, it would make every later merge of its key fail."""
    spec = given_spec({"id": "BIGINT", "seen": "BYTES", "version": "INT"}, buckets=1)
    seen = spec.columns[1].model_copy(update={"aggregate": AggregateSpec(function="rbm32")})
    spec = spec.model_copy(update={"columns": (spec.columns[0], seen, spec.columns[2])})
    bitmap = bytes(BitMap([1, 9]).serialize())
    values = [bitmap, b"no bitmap", None]
    messages = [
        {"id": number, "seen": value and base64.b64encode(value).decode(), "version": 1}
        for number, value in enumerate(values)
    ]
    records = given_records([*messages, b"{}"])
    plan = given_plan(spec)

    report = _run(_task(plan=plan, table=given_table(spec)), records)

    assert plan.checked_columns == ("seen",)
    assert report.accepted == 2
    assert report.dead_letters == {"unreadable": 1, "missing_key": 1}
    assert "offset 1: unreadable: column seen: `rbm32` of the column cannot" in report.examples[0]


def test_conditions_deletes_and_new_fields_are_read_behind_the_ids_of_schemas() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, deletes="clear_columns")
    plan = given_plan(
        spec,
        format={"type": "json", "schema_registry": "shop"},
        where="kind = 'order'",
        delete_when="op = 'd'",
        on_new_field="reject",
    )
    messages = [
        b'{"id": 1, "a": "x", "kind": "order"}',
        b'{"id": 2, "kind": "bill"}',
        b'{"id": 3, "kind": "order", "op": "d", "a": 5}',
        b'{"id": 4, "kind": "order", "b": 1}',
    ]
    records = given_records([*(framed(7, message) for message in messages), framed(8, b"{}")])
    schemas = GivenSchemas({7: SchemaKind.JSON})

    report = _run(_task(plan=plan, table=given_table(spec), schemas=schemas), records)

    assert (report.accepted, report.account.ignored) == (2, 1)
    assert report.dead_letters == {"new_field": 1, "malformed": 1}
    assert any("does not declare: b" in example for example in report.examples)


def test_a_registry_that_does_not_answer_ends_the_task_and_leaves_no_file() -> None:
    table = given_table(SPEC)
    plan = given_plan(SPEC, format={"type": "json", "schema_registry": "shop"})
    body = json.dumps(ROW).encode()
    task = _task(plan=plan, table=table, schemas=GivenSchemas({7: SchemaKind.JSON}))

    with pytest.raises(StorageUnavailable, match="down"):
        _run(task, given_records([framed(7, body)]), given_records([framed(DOWN, body)]))

    assert not [s for s in table.file_io.list(table.path) if "bucket" in s.path]


def test_a_record_whose_reading_raises_is_a_dead_letter_alone() -> None:
    plan = given_plan(SPEC, format={"type": "json", "schema_registry": "shop"})
    ids = [7] * 9 + [BROKEN, 7, BROKEN + 1]
    records = [framed(n, json.dumps({**ROW, "id": k}).encode()) for k, n in enumerate(ids)]
    task = _task(plan=plan, schemas=BrokenSchemas({7: SchemaKind.JSON}))

    report = _run(task, given_records(records))

    assert (report.accepted, report.dead_letters) == (10, {"poison": 2})
    assert report.examples[0] == (
        "partition 0, offset 9: poison: reading the record fails: ZeroDivisionError: division by zero"
    )


def test_an_error_that_many_records_cause_ends_the_task() -> None:
    plan = given_plan(SPEC, format={"type": "json", "schema_registry": "shop"})
    body = json.dumps(ROW).encode()
    task = _task(plan=plan, schemas=BrokenSchemas({7: SchemaKind.JSON}))

    with pytest.raises(ZeroDivisionError):
        _run(task, given_records([framed(BROKEN + n, body) for n in range(POISON_MAX + 1)]))


def test_a_task_without_records_reports_nothing() -> None:
    report = _run(_task(), given_records([]))

    assert parse_messages(report.messages[0]) == ()
    assert report.account.records == 0
    assert (report.max_sequence_number, report.newest_ms) == (-1, None)


def test_refused_records_are_counted_by_reason_and_not_written() -> None:
    """Above the limit nothing is sent: the driver will refuse the whole micro-batch."""
    records = given_records([b"{", b'{"id": "x"}', b"{}", ROW])

    report = _run(_task(), records)

    assert report.accepted == 1
    assert report.dead_letters == {"malformed": 1, "wrong_type": 1, "missing_key": 1}
    assert report.examples[2] == (
        "partition 0, offset 2: missing_key: key column id is missing or null"
    )


def test_letters_name_what_was_found_and_what_was_expected() -> None:
    report = _run(_task(), given_records([b"x" * 5_000_000, {**ROW, "version": "5"}, b"{"]))

    too_large, wrong, malformed = report.examples
    assert too_large.endswith(
        f"the value has 5000000 bytes, `max_message_bytes` allows {given_plan(SPEC).spec.max_message_bytes}"
    )
    assert wrong.endswith('field version: found "5", expected INT for column version')
    assert "offset 2: malformed: not JSON: " in malformed


class _FullFileIO(MemoryFileIO):
    """Storage that, once full, neither takes nor deletes files."""

    is_full = False

    def open_output(self, path: str) -> _GeneratorContextManager[pa.NativeFile]:
        if self.is_full:
            raise OSError("cannot write")
        return super().open_output(path)

    def delete(self, path: str) -> bool:
        if self.is_full:
            raise OSError("cannot delete")
        return super().delete(path)


def test_a_failing_cleanup_does_not_hide_the_first_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    file_io = _FullFileIO()
    task = _task(table=given_table(SPEC, file_io=file_io))
    file_io.is_full = True

    with pytest.raises(StorageUnavailable, match="cannot write"):
        _run(task, given_records([ROW]))

    assert "cannot delete" in caplog.text


def test_a_refused_row_has_the_micro_batch_written_again_and_leaves_no_file() -> None:
    table = given_table(NARROW)

    report = _run(_task(table=table), given_records([ROW]), given_records([{**ROW, "a": "xy"}]))

    assert "the rows do not fit" in str(report.refusal)
    assert parse_messages(report.messages[0]) == ()
    assert not [s for s in table.file_io.list(table.path) if "bucket" in s.path]


def test_rows_that_are_tried_first_are_refused_one_by_one() -> None:
    texts = ["xy" if key in (7, 31) else "x" for key in range(50)]
    batch = _rows(*((key, text, 1) for key, text in enumerate(texts)))

    report = _run(_task(table=given_table(NARROW), tries_rows=True), batch)

    assert (report.refusal, report.accepted) == (None, 48)
    assert report.dead_letters == {"refused_row": 2}
    assert report.examples[0].startswith(
        "partition 0, offset 7: refused_row: the table refuses the row: table db.t: "
        "the rows do not fit schema 0 of the table; a: row 0: "
    )


def test_a_record_that_cannot_be_merged_with_an_earlier_one_is_refused() -> None:
    """Each is fine by itself; what refuses one of them is the fold of the whole task."""
    total = {"function": "sum", "on_overflow": "fail"}
    spec = TableSpec.model_validate(
        {
            "columns": [
                {"name": "id", "type": "INT"},
                {"name": "n", "type": "BIGINT", "aggregate": total},
            ],
            "primary_key": ["id"],
            "merge_engine": "aggregation",
            "unordered": "allowed",
            "buckets": 1,
        }
    )
    given = {"plan": given_plan(spec), "table": given_table(spec)}
    values = [(1, 2**63 - 1), (2, 1), (1, 1), (1, -5)]
    batches = [given_records([{"id": key, "n": number} for key, number in values])]

    first = _run(_task(**given), *batches)
    again = _run(_task(**given, tries_rows=True), *batches)

    assert str(first.refusal).startswith("SchemaMismatch: table db.t: the records of key id = 1")
    assert (again.accepted, again.folded, again.dead_letters) == (2, 1, {"refused_row": 1})
    assert "offset 2: refused_row: the table refuses the row" in again.examples[0]


def test_letters_of_a_micro_batch_that_is_written_again_are_not_sent() -> None:
    """Nobody listens where they would go."""
    records = given_records([b"{", {**ROW, "a": "xy"}])

    report = _run(_task(table=given_table(NARROW), dead_letters_max=10), records)

    assert report.refusal is not None


def test_an_error_of_storage_is_not_a_refusal() -> None:
    file_io = _FullFileIO()
    task = _task(table=given_table(SPEC, file_io=file_io), tries_rows=True)
    file_io.is_full = True

    with pytest.raises(StorageUnavailable, match="cannot write"):
        _run(task, given_records([ROW]))


def test_columns_that_had_a_value_are_reported() -> None:
    report = _run(_task(), _rows((1, None, 1), (2, None, 2)))

    assert report.seen == ("id", "version")


def test_unpaired_surrogates_in_names_of_fields_do_not_stop_a_dead_letter() -> None:
    spec = given_spec({"id": "BIGINT", "m": "MAP<STRING, INT>", "version": "INT"}, buckets=1)
    value = b'{"id": 1, "m": {"\\ud800": "x"}, "version": 1}'

    report = _run(_task(plan=given_plan(spec), table=given_table(spec)), given_records([value]))

    assert "field m.\\ud800: found" in report.examples[0]


def _evolving(**reader: Any) -> WriteTask:
    plan = given_plan(SPEC, on_new_field="evolve")
    return _task(plan=plan, field_reader=UndeclaredFieldReader(plan=plan, **reader))


def test_records_with_new_fields_wait_for_their_columns() -> None:
    first = given_records([ROW, {**ROW, "id": 2, "tip": 1}])
    second = given_records([{**ROW, "id": 3, "tip": 0.5, "note": ""}])

    report = _run(_evolving(), first, second)

    assert report.schema_delta.new == {("tip",): shape_of(0.5), ("note",): shape_of("")}
    assert report.dead_letters == {}


def test_a_marked_record_without_new_fields_is_accepted() -> None:
    report = _run(_evolving(), given_records([{**ROW, "tip": None}]))

    assert (report.accepted, bool(report.schema_delta)) == (1, False)


def test_a_refused_value_may_widen_its_column() -> None:
    plan = given_plan(given_spec({"id": "BIGINT", "a": "INT", "version": "INT"}))
    task = _task(plan=plan, field_reader=UndeclaredFieldReader(plan=plan))

    report = _run(task, given_records([{"id": 1, "a": 3_000_000_000}]))

    assert report.schema_delta.wider == {"a": shape_of(3_000_000_000)}
    assert report.dead_letters == {}


def test_a_field_that_cannot_be_a_column_is_a_dead_letter_with_its_reason() -> None:
    task = _evolving(refused={"tip": "the owner said no"})

    report = _run(task, given_records([{**ROW, "tip": 1}, {**ROW, "a b": 1}, ROW]))

    assert (report.accepted, report.dead_letters) == (1, {"new_field": 2})
    assert not report.schema_delta
    assert "new_field: field tip is not declared and stays out: the owner said no" in "".join(
        report.examples
    )


def test_a_record_that_is_refused_anyway_keeps_its_reason() -> None:
    report = _run(_evolving(), given_records([{**ROW, "version": "x", "a b": 1}]))

    assert report.dead_letters == {"wrong_type": 1}


HALF = b'{"id": 1, "version": 1, "s\\ud800r": 1}'
"""A name with half of a letter: JSON can have it, UTF-8 cannot."""


@pytest.mark.parametrize("on_new_field", ["evolve", "reject"])
def test_a_name_without_a_utf8_form_stops_no_other_record(on_new_field: str) -> None:
    task = _evolving() if on_new_field == "evolve" else _task(plan=_rejecting())

    report = _run(task, given_records([ROW, HALF]))

    assert (report.accepted, report.dead_letters) == (1, {"new_field": 1})
    assert "s\\ud800r" in "".join(report.examples)


def _rejecting() -> StreamPlan:
    return given_plan(SPEC, on_new_field="reject")


def test_a_record_waits_although_an_item_of_its_array_does_not_fit() -> None:
    """A wider type of the items holds it."""
    spec = given_spec({"id": "BIGINT", "a": "ARRAY<INT>", "version": "INT"})
    plan = given_plan(spec, on_new_field="evolve")
    task = _task(plan=plan, table=given_table(spec), field_reader=UndeclaredFieldReader(plan=plan))

    report = _run(task, given_records([{**ROW, "a": [1, 3_000_000_000]}]))

    assert report.schema_delta.wider.keys() == {"a"}
    assert report.dead_letters == {}


@pytest.mark.parametrize("on_new_field", ["evolve", "reject"])
def test_a_message_that_is_nested_almost_too_deeply_stops_no_other_record(
    on_new_field: str,
) -> None:
    """A part of it can be parsed, and the whole message, which is a few levels deeper, cannot."""
    spec = given_spec({"id": "BIGINT", "row": "ROW<n INT>", "version": "INT"}, buckets=1)
    columns = [{"column": "id"}, {"column": "row", "path": "a.b.c.d.e.row"}, {"column": "version"}]
    plan = given_plan(spec, columns=columns, on_new_field=on_new_field)
    reader = UndeclaredFieldReader(plan=plan) if on_new_field == "evolve" else None
    start, end = b'{"id":1,"version":1,"a":{"b":{"c":{"d":{"e":{"row":{"z":', b"}}}}}}}"
    messages = [start + b"[" * depth + b"]" * depth + end for depth in range(850, 1_050)]

    report = _run(
        _task(plan=plan, table=given_table(spec), field_reader=reader), given_records(messages)
    )

    # None is accepted without the field that the stream does not declare.
    assert report.accepted == 0
    assert report.dead_letters.keys() <= {"malformed", "new_field"}


DELETING = given_spec(
    {"id": "BIGINT", "a": "STRING", "kind": "STRING", "version": "INT"},
    buckets=1,
    deletes="clear_columns",
)


def _rows_of(table: Table, report: TaskReport) -> dict[int, tuple[Any, ...]]:
    table.committer().commit(parse_messages(report.messages[0]), commit_user="u")
    rows = table.scan().to_arrow().to_pylist()
    return {row["id"]: (row["a"], row["version"], row["s__op"]) for row in rows}


@pytest.mark.parametrize("tries_rows", [False, True])
@pytest.mark.parametrize("options", [{}, {"rowkind.field": "kind"}])
def test_a_delete_clears_the_columns_of_its_stream(
    options: dict[str, str], tries_rows: bool
) -> None:
    spec = DELETING.model_copy(update={"options": options})
    table = given_table(spec)
    plan = given_plan(spec, where="type IS NULL", delete_when="op = 'd'")
    row = {"id": 1, "a": "x", "version": 2, "kind": "+I"}
    messages: list[dict[str, Any]] = [
        row,
        {"op": "d", "id": 1, "version": 3},
        {**row, "version": 1},
        {**row, "id": 2},
        {"op": "d", "id": 2, "version": 1},
        {"op": "d", "id": 3, "version": 1},
        {**row, "type": "other", "id": "not read"},
        {"op": "d", "version": 1},
    ]
    task = _task(plan=plan, table=table, tries_rows=tries_rows)

    report = _run(task, given_records(messages[:4]), given_records(messages[4:]))

    assert (report.accepted, report.folded, report.ignored) == (3, 3, 1)
    assert report.dead_letters == {"missing_key": 1}
    assert report.account.records == len(messages)
    assert _rows_of(table, report) == {
        1: (None, 3, "clear"),
        2: ("x", 2, "upsert"),
        3: (None, 1, "clear"),
    }


def test_a_clear_has_no_default_values() -> None:
    spec = DELETING.model_copy(
        update={
            "columns": (
                DELETING.columns[0],
                DELETING.columns[1].model_copy(update={"default": "none"}),
                *DELETING.columns[2:],
            )
        }
    )
    table = given_table(spec)
    messages: list[dict[str, Any]] = [
        {"id": 1, "version": 1},
        {"id": 2, "version": 1, "op": "d"},
    ]
    task = _task(plan=given_plan(spec, delete_when="op = 'd'"), table=table)

    report = _run(task, given_records(messages))

    assert _rows_of(table, report) == {1: ("none", 1, "upsert"), 2: (None, 1, "clear")}


def test_a_tombstone_removes_the_row() -> None:
    spec = given_spec(
        {"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=1, deletes="remove_row"
    )
    table = given_table(spec)
    columns = [{"column": "id", "source": "key"}, {"column": "a"}]
    plan = given_plan(spec, columns=columns, on_tombstone="remove_row")
    records = given_records([{"a": "x"}, {"a": "y"}, None], keys=[b"1", b"2", b"1"])

    report = _run(_task(plan=plan, table=table), records)

    table.committer().commit(parse_messages(report.messages[0]), commit_user="u")
    assert [row["id"] for row in table.scan().to_arrow().to_pylist()] == [2]
    assert (report.accepted, report.folded, report.dead_letters) == (2, 1, {})


def test_a_field_of_a_condition_changes_no_table() -> None:
    """The value fits no wider type of a column: the column has another field."""
    plan = given_plan(SPEC, on_new_field="evolve", where="n > 1")
    task = _task(plan=plan, field_reader=UndeclaredFieldReader(plan=plan))

    report = _run(task, given_records([{**ROW, "n": "x", "new": 1}, {**ROW, "n": 2}]))

    assert (report.accepted, report.dead_letters) == (1, {"wrong_type": 1})
    assert not report.schema_delta


def test_a_row_keeps_what_newer_records_leave_out_until_a_clear() -> None:
    columns = {"id": "INT", "a": "INT", "b": "INT", "version": "INT"}
    spec = given_spec(columns, keep=["a"], deletes="clear_columns")
    declared = {
        name: column.model_dump() for name, column in zip(columns, spec.columns, strict=True)
    }
    declared["a"]["default"] = "9"
    spec = TableSpec.model_validate(spec.model_dump() | {"columns": [*declared.values()]})
    plan = given_plan(spec, delete_when="gone = TRUE")
    # In any order of arrival: by version, each key's newest value that is not left out counts.
    messages: list[dict[str, Any]] = [
        {"id": 1, "version": 2, "b": 2},
        {"id": 1, "version": 1, "a": 5, "b": 1},
        {"id": 2, "version": 1, "a": 5, "b": 1},
        {"id": 2, "version": 2, "gone": True},
        {"id": 2, "version": 3, "b": 3},
        {"id": 3, "version": 3, "b": 3},
        {"id": 3, "version": 2, "a": None},
        {"id": 3, "version": 1, "a": 5},
        {"id": 4, "version": 1, "b": 1},
        {"id": 5, "version": 1, "gone": True},
        {"id": 5, "version": 2, "a": 7},
        {"id": 5, "version": 0, "a": 6},
    ]
    table = given_table(spec)
    for message in messages:
        report = _run(_task(plan=plan, table=table), given_records([message]))
        assert report.accepted == 1, report
        table.committer().commit(parse_messages(report.messages[0]), commit_user=f"{message}")

    for _ in range(2):
        rows = table.scan(columns=["id", "a", "b"]).to_arrow().to_pylist()
        assert {row["id"]: (row["a"], row["b"]) for row in rows} == {
            1: (5, 2),
            2: (None, 3),
            3: (9, 3),  # an explicit null takes the column's default
            4: (None, 1),  # a field that is left out does not
            5: (7, None),
        }
        table.compact(full=True)


@pytest.mark.parametrize("ordering", [("version",), None])
def test_arrival_decides_between_kept_values_of_equal_order_whatever_their_sequence_numbers(
    ordering: tuple[str, ...] | None,
) -> None:
    columns = {"id": "INT", "a": "STRING", "version": "INT"}
    spec = given_spec(columns, ordering=ordering, keep=["a"])
    plan = given_plan(spec, partitioned_by_key=True)
    table = given_table(spec)
    older = {"id": 1, "version": 7, "a": "older"}
    newer = {"id": 1, "version": 7, "a": "newer"}
    newest = {"id": 1, "version": 7}
    arrived = given_records([older, newer, newest])

    # The older record is numbered and committed last, as by a writer that others have overtaken.
    for position, number in ((1, 0), (2, 200), (0, 100)):
        report = _run(
            _task(plan=plan, table=table, first_sequence_number=number), arrived.slice(position, 1)
        )
        table.committer().commit(parse_messages(report.messages[0]), commit_user=f"{position}")

    for _ in range(2):
        (row,) = table.scan().to_arrow().to_pylist()
        assert (row["a"], row["s__offset"]) == ("newer", 2)
        table.compact(full=True)


def _captured(text: str = "STRING") -> TableSpec:
    columns = {"id": "BIGINT", "a": text}
    return given_spec(columns, ordering=None, deletes="clear_columns", buckets=1)


def _change(number: int, before: int | None = None, **row: Any) -> dict[str, Any]:
    old = None if before is None else {"id": before}
    return {"type": "update", "data": {"id": number, **row}, "old": old}


def test_a_record_of_several_rows_counts_once() -> None:
    spec = _captured()
    messages = [_change(2, before=1, a="x"), _change(3, before=2, a=[]), _change(4)]
    records = given_records([*messages, {"type": "bootstrap-start"}, b"{"])

    report = _run(_task(plan=given_plan(spec, format="maxwell"), table=given_table(spec)), records)

    (message,) = parse_messages(report.messages[0])
    assert sum(file.row_count for file in message.new_files) == 4
    assert (report.accepted, report.folded, report.account.ignored) == (3, 0, 1)
    assert report.dead_letters == {"malformed": 1}


def test_of_several_rows_of_one_key_in_a_record_the_last_is_written() -> None:
    spec = _captured()
    rows = [{"id": "2", "a": "x"}, {"id": "2", "a": "y"}, {"id": "3"}]
    records = given_records([{"type": "INSERT", "data": rows, "old": None}])
    table = given_table(spec)

    report = _run(_task(plan=given_plan(spec, format="canal"), table=table), records)

    (message,) = parse_messages(report.messages[0])
    assert sum(file.row_count for file in message.new_files) == 2
    assert (report.accepted, report.folded) == (1, 0)


def test_a_record_of_which_the_table_refuses_a_row_is_refused_as_a_whole() -> None:
    spec = _captured()
    narrow = _captured("VARCHAR(1)")
    records = given_records([_change(2, before=1, a="long"), _change(4, before=3, a="y")])
    plan = given_plan(spec, format="maxwell")

    report = _run(
        _task(plan=plan, table=given_table(narrow), tries_rows=True, dead_letters_max=0), records
    )

    (message,) = parse_messages(report.messages[0])
    assert sum(file.row_count for file in message.new_files) == 2
    assert (report.accepted, report.folded) == (1, 0)
    assert report.dead_letters == {"refused_row": 1}
