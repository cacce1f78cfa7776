"""Records: columns where they are accepted, the first of the reasons where they are refused."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from braid.lake.format.partition_path import escape
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.records.partition_names import partition_bytes_max
from braid.records.record_columns import HEADERS
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.stream_plan import StreamPlan
from braid.schemas import TableSpec
from tests.unit.formats.json.test_message_reader import COLUMNS
from tests.unit.records.given_streams import (
    AT,
    given_plan,
    given_records,
    given_spec,
    given_table,
)

ESCAPED = "\x00\x1f\"#%'*/:=?\\\x7f{}[]^"
SPEC = given_spec(COLUMNS)
PLAN = given_plan(SPEC, max_message_bytes=200)
WHOLE: list[tuple[bytes | None, str | None, str | None]] = [
    (b'{"id": 1, "version": 1}', None, None),
    (b' {"version": 1, "id": 1, "unknown": []}\n', None, None),
    (b'{"id": 1, "version": 2, "real": 1e39}', "out_of_range", "real"),
    (b'{"id": 1, "version": 2, "double": -1e400}', "out_of_range", "double"),
    (b'{"id": 1, "version": 2, "double": 1e400, "code": "INF"}', "out_of_range", "double"),
    (
        b'{"id": 1, "version": 2, "double": -INF, "real": Infinity, "numbers": [ "-Infinity" ]}',
        None,
        None,
    ),
    (b'{"id": 1, "version": 2, "numbers": [1.5, 1e400]}', "out_of_range", "numbers"),
    (b'{"id": 1, "version": 2, "map": {"x": 1, "x": 1}}', "wrong_type", "map"),
    (b'{"id": 1, "version": 2, "maps": [null, {"x": 1, "y": 1, "x": 2}]}', "wrong_type", "maps"),
    (b'{"id": 1, "version": 1}{"id": 2, "version": 1}', "malformed", None),
    (b'{"id": 1, "version": 1}\n{"id": 2, "version": 1}\n', "malformed", None),
    (b'{"id": 1, "version": 1} and more', "malformed", None),
    (b"{'id': 1, 'version': 1}", "malformed", None),
    (b'{"id": 1, "version": 1', "malformed", None),
    (b'[{"id": 1, "version": 1}]', "malformed", None),
    (b'{"id": 1, "version": 1, "code": "\xff"}', "malformed", None),
    (b"", "malformed", None),
    (b"null", "malformed", None),
    (None, "tombstone", None),
    (b'"' + b"x" * 300 + b'"', "too_large", None),
    (b"{}", "missing_key", "id"),
    (b'{"ID": 1, "version": 1}', "missing_key", "id"),
    (b'{"id": null, "version": 1}', "missing_key", "id"),
    (b'{"id": 1, "code": "x"}', "null_ordering", "version"),
]
"""Values, the reason why each is refused, and the column that the sentence names."""


def read(
    spec: TableSpec,
    plan: StreamPlan,
    messages: Sequence[Any],
    *,
    keys: Sequence[bytes | None] | None = None,
) -> ReadRecords:
    reader = RecordReader(plan, given_table(spec).schema)
    return reader.read(given_records(messages, keys=keys))


def reasons(found: ReadRecords) -> dict[int, str]:
    return {row: found.faults[row].reason.value for row in found.faults.rows}


@pytest.mark.parametrize(("value", "reason", "column"), WHOLE)
def test_messages_are_accepted_or_refused(
    value: bytes | None, reason: str | None, column: str | None
) -> None:
    found = read(SPEC, PLAN, [value])

    assert found.columns.keys() == COLUMNS.keys()
    if reason is None:
        assert len(found.faults) == 0
    else:
        assert found.faults[0].reason == reason
        assert column is None or column in found.faults[0].message


def test_a_message_that_is_too_long_is_not_read() -> None:
    spec = given_spec({"id": "INT", "a": "STRING", "version": "INT"})
    message = {"id": 1, "version": 1, "a": ""}
    text = "x" * (200 - len(json.dumps(message)))
    just, long = {**message, "a": text}, {**message, "a": text + "x", "new": 1}

    found = read(spec, given_plan(spec, max_message_bytes=200), [just, {"id": 2, "version": 1}])
    beyond = read(
        spec, given_plan(spec, max_message_bytes=200, on_new_field="evolve"), [just, long, None]
    )

    assert reasons(found) == {}
    assert reasons(beyond) == {1: "too_large", 2: "tombstone"}
    assert beyond.faults[1].message == (
        f"the value has {len(json.dumps(long))} bytes, `max_message_bytes` allows 200"
    )
    assert beyond.with_undeclared == []


def test_columns_of_the_key_and_of_the_value() -> None:
    spec = given_spec({"id": "INT", "a": "INT"}, ordering=None)
    columns = [{"column": "id", "path": "k.id", "source": "key"}, {"column": "a", "path": "a"}]
    keys = [b'{"k": {"id": 7}}', b'{"k": {}}', None, b"7", b'{"k": {"id": 8}}']

    found = read(spec, given_plan(spec, columns=columns), [*[{"a": 1}] * 4, {"a": "x"}], keys=keys)

    assert found.columns["id"].to_pylist() == [7, None, None, None, 8]
    assert found.columns["a"].to_pylist() == [1, 1, 1, 1, None]
    assert reasons(found) == {
        1: "missing_key",
        2: "missing_key",
        3: "malformed_key",
        4: "wrong_type",
    }
    assert found.faults[1].message == "key column id is missing or null"


@pytest.mark.parametrize(
    ("message", "key", "reason"),
    [
        ({"a": "x", "new": 1}, b"x", "wrong_type"),
        ({"a": 1, "new": 1}, b"x", "malformed_key"),
        ({"new": 1}, None, "missing_key"),
        ({"new": 1}, b"1", "null_ordering"),
        ({"version": 1, "new": 1}, b"1", "new_field"),
    ],
)
def test_a_record_is_refused_for_the_first_of_its_reasons(
    message: dict[str, Any], key: bytes | None, reason: str
) -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"})
    columns = [{"column": "id", "source": "key"}, {"column": "a"}, {"column": "version"}]
    plan = given_plan(spec, columns=columns, on_new_field="reject")

    assert reasons(read(spec, plan, [message], keys=[key])) == {0: reason}


def test_a_whole_key_that_is_missing() -> None:
    spec = given_spec({"id": "STRING", "a": "INT"}, ordering=None)
    plan = given_plan(spec, columns=[{"column": "id", "source": "key"}, {"column": "a"}])

    found = read(spec, plan, [{"a": 1}, {"a": 1}], keys=[b"", None])

    assert reasons(found) == {1: "missing_key"}


def test_a_column_that_must_not_be_null_refuses_a_record_without_it() -> None:
    spec = TableSpec.model_validate(
        {
            "columns": [{"name": "id", "type": "INT"}, {"name": "a", "type": "INT NOT NULL"}],
            "primary_key": ["id"],
            "unordered": "allowed",
        }
    )

    found = read(spec, given_plan(spec), [{"id": 1, "a": 1}, {"id": 1}, {"id": 1, "a": None}])

    assert reasons(found) == {1: "not_null", 2: "not_null"}
    assert found.faults[1].message == "column a is NOT NULL, but its field is missing or null"


def test_a_text_too_long_to_name_a_directory_refuses_the_record() -> None:
    spec = given_spec({"id": "INT", "p": "STRING", "version": "INT"}, ordering=None)
    spec = spec.model_copy(update={"primary_key": ("id", "p"), "partition_keys": ("p",)})
    spec = spec.model_copy(update={"sequence_groups": ()})
    texts = ["x" * 253, "x" * 254, "ä" * 127, ESCAPED, ESCAPED + "x" * (254 - 3 * len(ESCAPED))]
    assert len(escape(ESCAPED)) == 3 * len(ESCAPED)

    found = read(spec, given_plan(spec), [{"id": 1, "p": text} for text in texts])

    assert partition_bytes_max("p") == 253
    assert partition_bytes_max("a/b") == 255 - len("a%2Fb=")
    assert reasons(found) == {1: "out_of_range", 2: "out_of_range", 4: "out_of_range"}
    assert found.faults[1].message == (
        "the value for partition column p is too long to name a directory: "
        "more than 253 bytes of UTF-8, percent-escaped"
    )


def test_a_directory_is_named_by_the_number_as_it_was_written() -> None:
    spec = given_spec({"id": "INT", "p": "STRING", "version": "INT"}, ordering=None)
    spec = spec.model_copy(update={"primary_key": ("id", "p"), "partition_keys": ("p",)})
    spec = spec.model_copy(update={"sequence_groups": ()})

    found = read(
        spec,
        given_plan(spec),
        [b'{"id": 1, "p": 1.0}', f'{{"id": 1, "p": 1.{"0" * 300}}}'.encode()],
    )

    assert found.columns["p"][0].as_py() == "1.0"
    assert reasons(found) == {1: "out_of_range"}


@pytest.mark.parametrize(
    ("on_null_ordering", "refused"), [("clear", {}), ("dead_letter", {0: "null_ordering"})]
)
def test_records_without_ordering_pass_where_the_stream_clears_them(
    on_null_ordering: str, refused: dict[int, str]
) -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"})
    plan = given_plan(spec, on_null_ordering=on_null_ordering)

    found = read(spec, plan, [{"id": 1, "a": 2}, {"id": 1, "version": 3}])

    assert reasons(found) == refused


def test_one_of_several_ordering_columns_is_enough() -> None:
    spec = given_spec({"id": "INT", "a": "INT", "v": "INT", "w": "INT"}, ordering=("v", "w"))

    found = read(spec, given_plan(spec), [{"id": 1, "w": 1}, {"id": 1, "v": 1}, {"id": 1}])

    assert reasons(found) == {2: "null_ordering"}
    assert found.faults[2].message == "all ordering columns are null: v, w"


def test_a_key_that_is_too_long_is_refused() -> None:
    spec = given_spec({"id": "STRING", "a": "STRING", "version": "INT"})
    plan = replace(given_plan(spec), key_bytes_max=4)
    messages = [{"id": text, "a": "long enough", "version": 1} for text in ("abcd", "äöü")]

    found = read(spec, plan, messages)

    assert reasons(found) == {1: "too_large"}
    assert found.faults[1].message == (
        "the texts and bytes of the key (id) have more than 4 bytes together, the limit that the table's "
        "`braid.key.max-bytes` sets"
    )


def test_a_key_that_is_too_long_as_it_was_written_is_refused() -> None:
    spec = given_spec({"id": "STRING", "a": "INT", "version": "INT"})
    plan = replace(given_plan(spec), key_bytes_max=8)

    found = read(spec, plan, [b'{"id": 1.00000000000000000000, "version": 1}'])

    assert reasons(found) == {0: "too_large"}


def test_a_row_kind_that_the_table_does_not_accept_is_refused() -> None:
    spec = TableSpec.model_validate(
        {
            "columns": [{"name": name, "type": "STRING"} for name in ("id", "note", "kind")],
            "primary_key": ["id"],
            "merge_engine": "first-row",
            "deletes": "ignore",
            "options": {"rowkind.field": "kind"},
        }
    )
    kinds = ["+I", "-D", "+X", None]

    found = read(spec, given_plan(spec), [{"id": "1", "kind": kind} for kind in kinds])

    assert reasons(found) == {2: "row_kind", 3: "row_kind"}
    assert found.faults[2].message == (
        'column kind holds the row kind: expected one of +I, -U, +U, -D, found "+X"'
    )
    assert found.faults[3].message.endswith("found null")


# Messages, and whether a stream of `NESTED` finds a field in them that it does not declare: counting
# nulls, and not counting them.
NESTED = {
    "id": "BIGINT",
    "a": "INT",
    "row": "ROW<n INT, deep ROW<x INT>>",
    "list": "ARRAY<ROW<n INT>>",
    "map": "MAP<STRING, ROW<n INT>>",
    "version": "INT",
}
UNDECLARED_IN: list[tuple[str, bool, bool]] = [
    ('{"id": 1, "version": 1}', False, False),
    ('{"version": 1, "id": 1, "a": null, "row": null, "list": null}', False, False),
    ('{"id": 1, "version": 1, "b": 1}', True, True),
    ('{"id": 1, "version": 1, "b": null}', True, False),
    ('{"id": 1, "version": 1, "b": NaN}', True, True),
    ('{"id": 1, "version": 1, "a": null, "b": [1, -Infinity]}', True, True),
    ('{"id": 1, "version": 1, "row": {"n": 1, "deep": {"x": 1, "y": NaN}}}', True, True),
    ('{"id": 1, "version": 1, "b": {}}', True, True),
    ('{"id": 1, "version": 1, "A": 1}', True, True),
    ('{"id": 1, "version": 1, "": 1}', True, True),
    ('{"id": 1, "version": 1, "b": 1, "b": 2}', True, True),
    ('{"id": 1, "version": 1, "row": {"n": 1, "deep": {"x": 1}}}', False, False),
    ('{"id": 1, "version": 1, "row": {"m": 1}}', True, True),
    ('{"id": 1, "version": 1, "row": {"n": 1, "deep": {"y": null}}}', True, False),
    ('{"id": 1, "version": 1, "row": {"n": 1, "deep": {"y": "1"}}}', True, True),
    ('{"id": 1, "version": 1, "list": [{"n": 1}, null, {}]}', False, False),
    ('{"id": 1, "version": 1, "list": [{"n": 1}, {"m": 1}]}', True, True),
    ('{"id": 1, "version": 1, "row": {"m": 1, "m": 2}}', True, True),
    ('{"id": 1, "version": 1, "list": [{"n": 1, "m": null}]}', True, False),
    ('{"id": 1, "version": 1, "list": [{"m": 1, "m": 2}]}', True, True),
    ('{"id": 1, "version": 1, "map": {"n": {"n": 1}, "o": null}}', False, False),
    ('{"id": 1, "version": 1, "map": {"n": {"n": 1}, "o": {"o": 1}}}', True, True),
]


@pytest.mark.parametrize("text", [text for text, _, _ in UNDECLARED_IN])
def test_fields_that_are_not_declared_are_ignored_by_default(text: str) -> None:
    spec = given_spec(NESTED)

    found = read(spec, given_plan(spec), [text.encode()])

    assert (reasons(found), found.with_undeclared) == ({}, [])


@pytest.mark.parametrize(("text", "has_new", "_"), UNDECLARED_IN)
def test_fields_that_are_not_declared_are_rejected(text: str, has_new: bool, _: bool) -> None:
    spec = given_spec(NESTED)

    found = read(spec, given_plan(spec, on_new_field="reject"), [text.encode()])

    assert reasons(found) == ({0: "new_field"} if has_new else {})
    assert found.with_undeclared == []


@pytest.mark.parametrize(("text", "_", "has_new"), UNDECLARED_IN)
def test_fields_that_are_not_declared_are_found(text: str, _: bool, has_new: bool) -> None:
    spec = given_spec(NESTED)
    plan = given_plan(spec, on_new_field="evolve")
    reader = RecordReader(plan, given_table(spec).schema)

    found = reader.read(given_records([text.encode()]))

    assert reasons(found) == {}
    assert (found.with_undeclared == [0] and is_delta(plan, reader.tree(text.encode()))) is has_new


def is_delta(plan: StreamPlan, message: Any) -> bool:
    try:
        return bool(UndeclaredFieldReader(plan=plan).read(message))
    except UnrepresentableFieldError:
        return True


def test_a_rejected_record_names_its_fields() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"})
    value = {"id": 1, "version": 1, "b": 2, "c" * 300: None} | {f"n{i}": i for i in range(9)}

    found = read(spec, given_plan(spec, on_new_field="reject"), [value])

    message = found.faults[0].message
    assert message.startswith(
        "the record has fields that the stream does not declare: b, " + "c" * 100 + ", n0, "
    )
    assert message.endswith("n7 and 1 more")


def test_a_rejected_record_names_the_fields_of_its_schema() -> None:
    spec = given_spec({"id": "INT", "a": "INT"}, ordering=None)
    fields = [{"name": name, "type": ["null", "int"]} for name in ("id", "a", "b")]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    plan = given_plan(spec, format={"type": "avro", "schema": schema}, on_new_field="reject")
    named = b"\x02\x02\x00\x02\x02"  # id and b are 1, a is null

    found = read(spec, plan, [named, b"\x02", None])

    assert reasons(found) == {0: "new_field", 1: "malformed", 2: "tombstone"}
    assert found.faults[0].message == "the record has fields that the stream does not declare: b"


def test_of_a_delete_only_key_and_order_are_read() -> None:
    columns = {"id": "BIGINT", "a": "INT", "row": "ROW<n INT>", "version": "INT"}
    spec = given_spec(columns, deletes="clear_columns")
    plan = given_plan(spec, delete_when="op = 'd'")
    delete = {"op": "d", "id": 7, "version": 3, "a": "no number", "row": "no object"}
    bad = [{**delete, "version": "x"}, {**delete, "id": None}, {"op": "d", "id": 9}]

    found = read(spec, plan, [{"id": 6, "version": 1, "a": 5}, delete, *bad])

    assert plan.delete_columns == ("id", "version")
    assert {name: array[:2].to_pylist() for name, array in found.columns.items()} == {
        "id": [6, 7],
        "a": [5, None],
        "row": [None, None],
        "version": [1, 3],
    }
    assert found.is_delete.tolist() == [False, True, True, True, True]
    assert reasons(found) == {2: "wrong_type", 3: "missing_key", 4: "null_ordering"}


def test_a_delete_has_the_columns_that_hold_its_time_and_those_that_cannot_be_null() -> None:
    columns = {"id": "BIGINT", "at": "TIMESTAMP(3)", "a": "INT", "n": "ARRAY<INT> NOT NULL"}
    spec = given_spec(
        columns,
        sequence_groups=[],
        merge_engine="deduplicate",
        delete_retention={"seconds": 60, "columns": ["at"]},
    )
    plan = given_plan(spec, delete_when="op = 'd'")
    delete = {"op": "d", "id": 7, "at": "2026-01-02T03:04:05", "a": 1, "n": [1]}

    found = read(spec, plan, [delete, {"op": "d", "id": 8}])

    assert plan.delete_columns == ("id", "at", "n")
    assert found.columns["a"].to_pylist() == [None, None]
    assert found.columns["n"][0].as_py() == [1]
    assert found.columns["at"][0].is_valid
    assert reasons(found) == {1: "not_null"}


def test_a_tombstone_has_the_key_of_its_record() -> None:
    spec = given_spec({"id": "INT", "a": "INT"}, ordering=None, deletes="clear_columns")
    columns = [{"column": "id", "source": "key"}, {"column": "a"}]
    plan = given_plan(spec, columns=columns, on_tombstone="clear_columns")

    found = read(spec, plan, [None, {"a": 1}, None], keys=[b"1", b"2", None])

    assert found.columns["id"].to_pylist() == [1, 2, None]
    assert found.columns["a"].to_pylist() == [None, 1, None]
    assert found.is_delete.tolist() == [True, False, True]
    assert reasons(found) == {2: "missing_key"}


def test_the_column_of_row_kinds_says_that_a_record_is_a_delete() -> None:
    spec = given_spec(
        {"id": "INT", "a": "INT", "kind": "STRING", "version": "INT"},
        deletes="clear_columns",
        options={"rowkind.field": "kind"},
    )
    plan = given_plan(spec, delete_when="op = 'd'")
    messages = [{"op": "d", "kind": "?"}, {"op": "u", "kind": "+U"}, {"kind": "-D"}, {}]

    found = read(spec, plan, [{"id": 1, "version": 1, **message} for message in messages])

    assert found.columns["kind"].to_pylist() == ["-D", "+U", "-D", None]
    assert reasons(found) == {3: "row_kind"}


@pytest.mark.parametrize("on_new_field", ["reject", "evolve"])
def test_fields_of_conditions_are_no_new_fields(on_new_field: str) -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"}, deletes="clear_columns")
    declared = {"where": "type = 'a' AND meta.source = 'x'", "delete_when": "op = 'd'"}
    plan = given_plan(spec, on_new_field=on_new_field, **declared)
    row = {"id": 1, "version": 1, "type": "a", "meta": {"source": "x"}, "op": "u"}
    reader = RecordReader(plan, given_table(spec).schema)

    left_out = {**row, "type": "b", "new": 1}
    found = reader.read(given_records([row, {**row, "op": "d", "new": 1}, left_out]))

    assert (found.left_out, reasons(found), found.with_undeclared) == (1, {}, [])


MISSING_SPEC = given_spec(
    {"id": "INT", "a": "INT", "b": "INT", "op": "STRING", "version": "INT"},
    keep=["a"],
    options={"rowkind.field": "op"},
    deletes="clear_columns",
)


def test_a_missing_field_is_kept_rejected_or_null_as_declared() -> None:
    columns = [
        *({"column": name} for name in ("id", "op", "version")),
        {"column": "a", "path": "o.a"},
        {"column": "b", "on_missing": "reject"},
    ]
    record = {"id": 1, "op": "+I", "version": 1}
    messages = [
        {**record, "b": 1, "o": {"a": 1}},
        {**record, "b": None, "o": {"a": None}},
        {**record, "b": 1, "o": None},
        {**record, "b": 1},
        {**record, "o": {"a": 1}},
        {"id": 1, "version": 1, "op": "-D"},
        {"version": 1, "op": "+I"},
    ]

    found = read(MISSING_SPEC, given_plan(MISSING_SPEC, columns=columns), messages)

    # Of the reasons of the last record this one comes first.
    assert reasons(found) == {4: "missing_field", 6: "missing_field"}
    assert found.faults[4].message == "field b of column b is missing"
    assert found.missing.keys() == {"a"}
    # A delete sets every column: it misses none.
    assert found.missing["a"].to_pylist() == [False, False, True, True, False, False, True]


@pytest.mark.parametrize("on_missing", ["null", None])
def test_a_stream_that_reads_null_misses_nothing(on_missing: str | None) -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"}, keep=["a"] if on_missing else ())
    columns = [{"column": "id"}, {"column": "version"}, {"column": "a", "on_missing": on_missing}]

    found = read(spec, given_plan(spec, columns=columns), [{"id": 1, "version": 1}])

    assert (reasons(found), found.missing) == ({}, {})


def test_a_delete_by_condition_misses_no_field() -> None:
    spec = given_spec(
        {"id": "INT", "a": "INT", "b": "INT", "version": "INT"},
        keep=["a"],
        deletes="clear_columns",
    )
    columns = [
        *({"column": name} for name in ("id", "a", "version")),
        {"column": "b", "on_missing": "reject"},
    ]
    plan = given_plan(spec, columns=columns, delete_when="gone = TRUE")

    found = read(spec, plan, [{"id": 1, "version": 1, "gone": True}, {"id": 1, "version": 1}])

    assert reasons(found) == {1: "missing_field"}
    assert found.missing["a"].to_pylist() == [False, True]


PART_COLUMNS: list[dict[str, Any]] = [
    {"column": "id", "source": "key"},
    {"column": "shop", "source": "header", "path": "x-shop"},
    {"column": "a"},
    {"column": "note", "source": "header"},
    {"column": "place", "source": "offset"},
    {"column": "origin", "source": "topic"},
    {"column": "at", "source": "timestamp"},
]
PART_TYPES = {
    "id": "INT",
    "shop": "INT",
    "a": "INT",
    "note": "STRING",
    "place": "BIGINT",
    "origin": "STRING",
    "at": "TIMESTAMP(3)",
}


def with_headers(
    batch: pa.RecordBatch, *headers: Sequence[tuple[str, bytes | None]]
) -> pa.RecordBatch:
    """Return records with headers of their own."""
    index = batch.schema.get_field_index(HEADERS)
    each = [[{"key": name, "value": value} for name, value in one] for one in headers]
    array = pa.array(each, batch.schema.field(index).type)
    return batch.set_column(index, batch.schema.field(index), array)


@pytest.mark.parametrize("format_", ["json", "raw", {"type": "csv", "fields": ["a", "b"]}])
def test_a_stream_may_read_no_field_of_its_messages(format_: object) -> None:
    spec = given_spec({"id": "INT", "at": "TIMESTAMP(3)", "note": "STRING"}, ordering=("at",))
    columns = [one for one in PART_COLUMNS if one["column"] in ("id", "at", "note")]
    plan = given_plan(spec, columns=columns, format=format_)
    reader = RecordReader(plan, given_table(spec).schema)
    value = b"1,2" if isinstance(format_, dict) else b"{}"

    found = reader.read(
        with_headers(given_records([value] * 2, keys=[b"1", b"2"]), [("note", b"n")], [])
    )

    assert reasons(found) == {}
    assert found.columns["note"].to_pylist() == ["n", None]
    assert found.columns["at"].to_pylist() == [AT.replace(tzinfo=None, microsecond=678_000)] * 2


def test_columns_of_the_parts_of_records() -> None:
    spec = given_spec(PART_TYPES, ordering=("at",), primary_key=["id", "shop"])
    spec = spec.model_copy(
        update={
            "sequence_groups": (
                spec.sequence_groups[0].model_copy(
                    update={"columns": ("a", "note", "place", "origin"), "keep": ("note",)}
                ),
            )
        }
    )
    reader = RecordReader(given_plan(spec, columns=PART_COLUMNS), given_table(spec).schema)
    headers: list[list[tuple[str, bytes | None]]] = [
        [("x-shop", b"5"), ("note", b"first"), ("note", b"last")],
        [("x-shop", b"6")],
        [("x-shop", b"7"), ("note", None)],
        [("x-shop", b"seven")],
        [("note", b"no shop")],
        [("x-shop", b"3000000000")],
        [("x-shop", b"8"), ("note", b"\xff")],
    ]

    found = reader.read(with_headers(given_records([{"a": 1}] * 7, keys=[b"1"] * 7), *headers))

    assert reasons(found) == {
        3: "malformed_header",
        4: "missing_key",
        5: "out_of_range",
        6: "malformed_header",
    }
    assert found.faults[3].message == ('header x-shop: found "seven", expected INT for column shop')
    assert {name: array[:3].to_pylist() for name, array in found.columns.items()} == {
        "id": [1, 1, 1],
        "shop": [5, 6, 7],
        "a": [1, 1, 1],
        "note": ["last", None, None],
        "place": [0, 1, 2],
        "origin": ["topic"] * 3,
        "at": [AT.replace(tzinfo=None, microsecond=678_000)] * 3,
    }
    # A header without a value is there.
    assert found.missing["note"].to_pylist()[:3] == [False, True, False]


def test_a_record_without_the_header_that_its_column_needs_is_refused() -> None:
    spec = given_spec({"id": "INT", "note": "STRING"}, ordering=None)
    columns = [PART_COLUMNS[0], {**PART_COLUMNS[3], "path": "n.1", "on_missing": "reject"}]
    reader = RecordReader(given_plan(spec, columns=columns), given_table(spec).schema)

    found = reader.read(given_records([{}, {}], keys=[b"1", b"2"]))

    assert reasons(found) == {0: "missing_field", 1: "missing_field"}
    assert found.faults[0].message == "header n.1 of column note is missing"


def test_a_tombstone_has_its_key_and_its_order_from_the_parts_of_the_record() -> None:
    spec = given_spec(
        {"id": "INT", "note": "STRING", "place": "BIGINT", "shop": "INT", "at": "TIMESTAMP(3)"},
        ordering=("at", "shop"),
        deletes="clear_columns",
    )
    columns = [one for one in PART_COLUMNS if one["column"] not in ("a", "origin")]
    plan = given_plan(spec, columns=columns, on_tombstone="clear_columns")
    reader = RecordReader(plan, given_table(spec).schema)
    headers: list[list[tuple[str, bytes | None]]] = [
        [("x-shop", b"1"), ("note", b"\xff")],
        [("x-shop", b"2"), ("note", b"n")],
        [("x-shop", b"x")],
    ]

    found = reader.read(with_headers(given_records([None, {}, None], keys=[b"7"] * 3), *headers))

    assert plan.delete_columns == ("id", "shop", "at")
    assert found.is_delete.tolist() == [True, False, True]
    # The note of a delete is not read, so it cannot be wrong.
    assert reasons(found) == {2: "malformed_header"}
    assert {name: array[:2].to_pylist() for name, array in found.columns.items()} == {
        "id": [7, 7],
        "shop": [1, 2],
        "note": [None, "n"],
        "place": [None, 1],
        "at": [AT.replace(tzinfo=None, microsecond=678_000)] * 2,
    }


def test_a_wider_type_is_sought_for_values_of_the_message_alone() -> None:
    spec = given_spec(
        {"id": "INT", "a": "INT", "shop": "INT", "version": "INT"},
        ordering=None,
        deletes="clear_columns",
    )
    columns = [*PART_COLUMNS[:3], {"column": "version"}]
    plan = given_plan(spec, columns=columns, on_new_field="evolve", on_tombstone="clear_columns")
    reader = RecordReader(plan, given_table(spec).schema)
    far = b"3000000000"
    rows: list[tuple[Any, bytes, bytes]] = [
        ({"a": 1 << 40}, b"1", b"1"),
        ({"a": 1}, far, b"1"),
        ({"a": 1}, b"1", far),
        (None, far, b"1"),
    ]

    found = reader.read(
        with_headers(
            given_records([value for value, _, _ in rows], keys=[key for _, key, _ in rows]),
            *([("x-shop", header)] for _, _, header in rows),
        )
    )

    assert reasons(found) == dict.fromkeys(range(4), "out_of_range")
    assert found.widenable == [0]


COMPUTED = [
    {"column": "id", "expression": "raw_id // 10"},
    {"column": "region", "constant": "EU"},
    {"column": "version"},
    {"column": "v", "expression": "coalesce(x, 'none')"},
    {"column": "w", "default": "d"},
]


def computed_plan(**stream: Any) -> tuple[StreamPlan, TableSpec]:
    columns = {"id": "BIGINT", "region": "STRING", "version": "INT", "v": "STRING", "w": "STRING"}
    spec = given_spec(columns, deletes="clear_columns")
    group = spec.sequence_groups[0].model_copy(update={"columns": ("v", "w")})
    spec = spec.model_copy(update={"primary_key": ("id", "region"), "sequence_groups": (group,)})
    fields = {"raw_id": "BIGINT", "x": "STRING"}
    return given_plan(spec, columns=COMPUTED, fields=fields, **stream), spec


def test_a_delete_has_its_computed_key_and_no_other_computed_column() -> None:
    plan, spec = computed_plan(delete_when="op = 'd'")
    messages: list[dict[str, Any]] = [
        {"raw_id": 10, "version": 1},
        {"raw_id": 20, "version": 2, "op": "d", "x": "y"},
    ]

    found = RecordReader(plan, given_table(spec).schema).read(given_records(messages))

    assert found.is_delete.tolist() == [False, True]
    assert len(found.faults) == 0
    rows = {name: array.to_pylist() for name, array in found.columns.items()}
    assert rows == {
        "id": [1, 2],
        "region": ["EU", "EU"],
        "version": [1, 2],
        "v": ["none", None],
        "w": ["d", None],
    }


def test_a_record_without_any_field_of_an_expression_is_missing_it() -> None:
    spec = given_spec({"id": "BIGINT", "version": "INT", "v": "STRING"})
    columns = [
        {"column": "id"},
        {"column": "version"},
        {"column": "v", "expression": "upper(x)", "on_missing": "reject"},
    ]
    plan = given_plan(spec, columns=columns, fields={"x": "STRING"})
    messages: list[dict[str, Any]] = [
        {"id": 1, "version": 1, "x": None},
        {"id": 2, "version": 1},
    ]

    found = RecordReader(plan, given_table(spec).schema).read(given_records(messages))

    assert reasons(found) == {1: "missing_field"}
    assert found.faults[1].message == "every field of the expression of column v is missing"


def test_fields_of_expressions_are_no_new_fields_and_stay_as_they_are() -> None:
    spec = given_spec({"id": "BIGINT", "version": "INT", "n": "INT", "v": "BIGINT"})
    columns = [
        *({"column": name} for name in ("id", "version", "n")),
        {"column": "v", "expression": "n + x"},
    ]
    plan = given_plan(spec, columns=columns, fields={"x": "INT"}, on_new_field="evolve")
    reader = RecordReader(plan, given_table(spec).schema)
    messages: list[dict[str, Any]] = [
        {"id": 1, "version": 1, "n": 1, "x": 1},
        {"id": 2, "version": 1, "n": 2**40},
    ]

    found = reader.read(given_records(messages))
    changes = reader.wanted_changes(
        found, UndeclaredFieldReader(plan=plan, taken=tuple(spec.column_names))
    )

    assert (found.columns["v"].to_pylist(), changes) == ([2, None], {})
    assert reasons(found) == {1: "out_of_range"}
    assert plan.columns_in_expressions == {"n"}
