"""Rows become files: numbering, folding, flushing, handing over."""

import uuid

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.files.paths import TablePaths
from tests.given_tables import ROOT, GivenTable, given_kinds, given_rows, given_schema

COLUMNS = {"k": "INT", "v": "INT"}


def given_table(**options: str) -> GivenTable:
    """Return a table (k, v) with options written with underscores for dashes."""
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return GivenTable(schema=given_schema(COLUMNS, key=["k"], options=named))


def files_in(table: GivenTable) -> list[str]:
    """Return the names in bucket 0."""
    return [status.name for status in table.file_io.list(f"{ROOT}/bucket-0")]


def test_the_last_of_several_rows_of_a_key_wins() -> None:
    table = given_table()
    result = table.write([1, 10], [2, 20], [1, 11])

    assert table.read() == [(1, 11), (2, 20)]
    assert (result.rows_accepted, result.rows_folded, result.rows_ignored) == (2, 1, 0)
    assert result.max_sequence_number == 2


def test_partial_update_folds_columns_before_they_are_written() -> None:
    schema = given_schema(
        {"k": "INT", "a": "INT", "b": "INT"}, key=["k"], options={"merge-engine": "partial-update"}
    )
    table = GivenTable(schema=schema)
    table.write([1, 10, None], [1, None, 20])

    assert table.entries[0].file.row_count == 1
    assert table.read() == [(1, 10, 20)]


def test_each_bucket_gets_a_message_with_its_files() -> None:
    table = given_table(bucket="4")
    result = table.write(*[[k, k] for k in range(100)])

    assert sorted(message.bucket for message in result.messages) == [0, 1, 2, 3]
    assert {message.total_buckets for message in result.messages} == {4}
    assert {message.schema_id for message in result.messages} == {0}
    files = [file for message in result.messages for file in message.new_files]
    assert result.bytes_written == sum(file.file_size for file in files)
    assert table.read() == sorted([(k, k) for k in range(100)], key=repr)


def test_deletes_are_stored_and_hide_their_key() -> None:
    table = given_table()
    table.write([1, 10], [2, 20])
    table.write([1, 10], kinds="-D")

    assert table.entries[1].file.row_count == 1
    assert table.read() == [(2, 20)]


def test_ignored_rows_take_no_sequence_number() -> None:
    table = given_table(ignore_delete="true")
    result = table.write([1, 1], [2, 2], [3, 3], [4, 4], kinds="-D +I -U +U")

    assert (result.rows_accepted, result.rows_ignored) == (2, 2)
    assert result.max_sequence_number == 1


def test_ignored_update_before_leaves_deletes() -> None:
    table = given_table(ignore_update_before="true")
    result = table.write([1, 1], [2, 2], kinds="-U -D")

    assert (result.rows_accepted, result.rows_ignored) == (1, 1)


def test_a_full_buffer_is_flushed_in_between() -> None:
    table = given_table()
    writer = table.writer(buffer_bytes=1_000)
    writer.write(given_rows(table.schema, [[k, k] for k in range(500)]))

    assert len(files_in(table)) > 3
    result = table.commit(writer.prepare_commit())
    assert result.rows_accepted == 500
    assert len(table.read()) == 500


def test_flushes_of_one_writer_keep_their_order() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, [[1, 1]]))
    writer.flush()
    writer.write(given_rows(table.schema, [[1, 2]]))
    result = table.commit(writer.prepare_commit())

    assert len(result.messages) == 1
    assert len(result.messages[0].new_files) == 2
    assert table.read() == [(1, 2)]


def test_a_writer_continues_after_a_commit() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, [[1, 1]]))
    first = table.commit(writer.prepare_commit())
    writer.write(given_rows(table.schema, [[1, 2]]))
    second = table.commit(writer.prepare_commit())

    assert (first.max_sequence_number, second.max_sequence_number) == (0, 1)
    assert second.rows_accepted == 1
    names = [entry.file.file_name for entry in table.entries]
    assert len(set(names)) == 2
    assert table.read() == [(1, 2)]


def test_nothing_written_gives_no_message() -> None:
    table = given_table()
    result = table.writer().prepare_commit()

    assert (result.messages, result.max_sequence_number) == ((), None)
    assert files_in(table) == []


def test_an_empty_batch_is_taken() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, []))

    assert writer.prepare_commit().messages == ()


def test_abort_deletes_what_was_not_handed_over() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, [[1, 1]]))
    writer.prepare_commit()
    writer.write(given_rows(table.schema, [[2, 2]]))
    writer.flush()
    assert len(files_in(table)) == 2

    writer.abort()

    assert len(files_in(table)) == 1
    assert writer.prepare_commit().messages == ()


def test_rows_that_do_not_fit_leave_the_writer_as_it_was() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, [[1, 1]]))
    with pytest.raises(SchemaMismatch, match="k: row 1: the column is NOT NULL"):
        writer.write(pa.table({"k": pa.array([2, None]), "v": [2, 3]}))

    result = table.commit(writer.prepare_commit())

    assert result.rows_accepted == 1
    assert table.read() == [(1, 1)]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (pa.array([0, 4], pa.int8()), r"row 1: this is not a row kind \(found `4`\)"),
        (pa.array([None, 0], pa.int8()), r"row 0: this is not a row kind \(found `null`\)"),
        (pa.array([-1, 0], pa.int64()), r"expected 0 \(\+I\), 1 \(-U\), 2 \(\+U\), 3 \(-D\)"),
        (pa.array([255, 0], pa.uint8()), "row 0: this is not a row kind"),
        (pa.array([0], pa.int8()), r"expected one row kind for each of 2 rows \(found `1`\)"),
        (pa.array(["+I", "-D"]), r"is an integer type, such as int8 \(found `string`\)"),
    ],
)
def test_row_kinds_are_checked(kinds: pa.Array, message: str) -> None:
    table = given_table()
    with pytest.raises(SchemaMismatch, match=message):
        table.writer().write(given_rows(table.schema, [[1, 1], [2, 2]]), kinds=kinds)


def test_row_kinds_may_be_chunked_and_wider() -> None:
    table = given_table()
    writer = table.writer()
    kinds = pa.chunked_array([pa.array([0]), pa.array([3])])
    writer.write(given_rows(table.schema, [[1, 1], [1, 1]]), kinds=kinds)
    table.commit(writer.prepare_commit())

    assert table.read() == []


def test_a_record_batch_is_taken_too() -> None:
    table = given_table()
    writer = table.writer()
    (batch,) = given_rows(table.schema, [[1, 1]]).to_batches()
    writer.write(batch, kinds=given_kinds("+U"))
    table.commit(writer.prepare_commit())

    assert table.read() == [(1, 1)]


def test_file_names_carry_the_writers_uuid() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, [[1, 1]]))
    writer.prepare_commit()

    (name,) = files_in(table)
    assert name.startswith("data-")
    assert name.endswith("-0.parquet")
    uuid.UUID(name.removeprefix("data-").removesuffix("-0.parquet"))
    assert table.paths == TablePaths(ROOT)


def test_columns_without_a_value_can_be_kept_in_the_file() -> None:
    table = given_table()
    table.write([1, None], drop_null_columns=False)
    table.write([2, None], drop_null_columns=True)

    kept, dropped = (entry.file.file_size for entry in table.entries)
    assert dropped < kept
    assert table.read() == [(1, None), (2, None)]
