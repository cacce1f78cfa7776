"""A task writes what is accepted, counts every record, and cleans up after a failure."""

import base64
import json
from contextlib import _GeneratorContextManager
from typing import Any

import pyarrow as pa
import pytest

from lake import MemoryFileIO, SchemaMismatch, StorageUnavailable, parse_messages
from pipelines.kafka_cluster import KafkaCluster
from pipelines.sink.task_report import TaskReport, parse_report
from pipelines.sink.write_task import WriteTask
from tests.unit.pipelines.given_streams import (
    AT,
    given_plan,
    given_records,
    given_spec,
    given_table,
)

SPEC = given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1)
TYPES = [pa.int64(), pa.string(), pa.int32()]


def _task(**given: Any) -> WriteTask:
    arguments = {
        "plan": given_plan(SPEC),
        "table": given_table(SPEC),
        # Nobody listens there: a test in which a letter is sent would fail.
        "cluster": KafkaCluster(bootstrap_servers="127.0.0.1:1"),
        "first_sequence_number": 100,
        "sequence_numbers": 10,
        "dead_letters_max": 0,
    }
    return WriteTask(**(arguments | given))  # type: ignore[arg-type]


def _run(task: WriteTask, *batches: pa.RecordBatch) -> TaskReport:
    (output,) = task(iter(batches))
    (row,) = output.to_pylist()
    return parse_report(row["messages"], row["report"])


def test_every_record_is_accepted_or_folded() -> None:
    first = given_records([(1, "x", 1), (2, "y", 1)], types=TYPES)
    second = given_records([(1, "z", 2)], types=TYPES)

    report = _run(_task(), first, second)

    (message,) = parse_messages(report.messages[0])
    assert (report.accepted, report.folded, report.dead_letters) == (2, 1, {})
    assert sum(file.row_count for file in message.new_files) == 2
    assert report.max_sequence_number == 102
    assert report.newest_ms == int(AT.timestamp() * 1_000)


def test_a_task_without_records_reports_nothing() -> None:
    report = _run(_task(), given_records([], types=TYPES))

    assert parse_messages(report.messages[0]) == ()
    assert report.account.records == 0
    assert (report.max_sequence_number, report.newest_ms) == (-1, None)


def test_refused_records_are_counted_by_reason_and_not_written() -> None:
    """Above the limit nothing is sent: the driver will refuse the whole micro-batch."""
    header = [{"key": "h", "value": base64.b64encode(b"1").decode()}, {"key": "null"}]
    refused = {
        0: {"reason": "unparsable", "value": b"{", "headers": json.dumps(header)},
        1: {"reason": "unparsable", "value": b'{"id": "x"}'},
        2: {"reason": "missing_key", "detail": "id", "value": b"{}"},
    }
    records = given_records([(None, None, None)] * 3 + [(1, "x", 1)], types=TYPES, refused=refused)

    report = _run(_task(), records)

    assert report.accepted == 1
    assert report.dead_letters == {"malformed": 1, "wrong_type": 1, "missing_key": 1}
    assert report.examples[2] == (
        "partition 0, offset 2: missing_key: key column id is missing or null"
    )


def test_letters_name_what_was_found_and_what_was_expected() -> None:
    refused = {
        0: {"reason": "too_large", "value": b"x" * 5_000_000},
        1: {"reason": "wrong_type", "detail": "a", "value": b'{"a": 5}'},
        2: {"reason": "wrong_type", "detail": "a", "value": b"{"},
    }

    report = _run(_task(), given_records([(None, None, None)] * 3, types=TYPES, refused=refused))

    too_large, wrong, unclear = report.examples
    assert too_large.endswith(
        f"the value has 5000000 bytes, max_message_bytes is {given_plan(SPEC).spec.max_message_bytes}"
    )
    assert wrong.endswith("field a: found 5, expected STRING for column a")
    assert unclear.endswith("the value for column a is not of its type")


def test_a_text_too_long_for_a_directory_is_explained() -> None:
    refused = {0: {"reason": "partition_too_long", "detail": "a", "value": b"{}"}}

    report = _run(_task(), given_records([(None, None, None)], types=TYPES, refused=refused))

    assert report.dead_letters == {"out_of_range": 1}
    assert "partition column a is too long to name a directory: more than 253" in report.examples[0]


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
        _run(task, given_records([(1, "x", 1)], types=TYPES))

    assert "cannot delete" in caplog.text


def test_a_failing_task_leaves_no_file() -> None:
    table = given_table(SPEC)
    bad = given_records([(None, "x", 1)], types=TYPES)

    with pytest.raises(SchemaMismatch):
        _run(_task(table=table), given_records([(1, "x", 1)], types=TYPES), bad)

    assert not [s for s in table.file_io.list(table.path) if "bucket" in s.path]
