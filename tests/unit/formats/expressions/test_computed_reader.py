"""Computed columns and defaults are the same for messages of every format; a failure is that of its record alone."""

import io
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from braid.formats.expressions.computed_reader import ComputedReader
from braid.formats.expressions.errors import ExpressionError
from braid.formats.expressions.sql_engine import SqlEngine
from braid.formats.json.message_reader import JsonReader
from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.formats.message_reader import ReadMessages
from braid.formats.readers import message_reader
from braid.lake import parse_type
from braid.schemas import AvroFormat, ColumnSource, CsvFormat, JsonFormat


def computed(expression: str, sql: str, **options: Any) -> MappedColumn:
    return MappedColumn(
        name="out",
        path=(),
        type=parse_type(sql),
        source=ColumnSource.EXPRESSION,
        expression=expression,
        **options,
    )


def plain(path: str, sql: str, **options: Any) -> MappedColumn:
    return MappedColumn(
        name=options.pop("name", path), path=tuple(path.split(".")), type=parse_type(sql), **options
    )


def read(
    columns: Sequence[MappedColumn], fields: Sequence[MappedColumn], *messages: Any
) -> ReadMessages:
    payloads = [json.dumps(one).encode() if isinstance(one, dict) else one for one in messages]
    return message_reader(JsonFormat(), columns, fields=fields).read(
        pa.array(payloads, pa.binary())
    )


def rows(found: ReadMessages, place: int = 0) -> list[Any]:
    """Return per message its value, or reason and message of its fault."""
    return [
        f"{found.faults[row].reason.value}: {found.faults[row].message}"
        if row in found.faults
        else value
        for row, value in enumerate(found.arrays[place].to_pylist())
    ]


def avro(**values: Any) -> tuple[AvroFormat, bytes]:
    fields = [{"name": "n", "type": "long"}, {"name": "t", "type": "string"}]
    schema = {"type": "record", "name": "R", "fields": fields}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(schema)), values)
    return AvroFormat(schema=json.dumps(schema)), out.getvalue()


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (JsonFormat(), b'{"n": 7, "t": "a"}'),
        (CsvFormat(fields=("n", "t")), b"7,a"),
        avro(n=7, t="a"),
    ],
)
@pytest.mark.parametrize("copies", [1, 50])
def test_messages_of_every_format(declared: Any, message: bytes, copies: int) -> None:
    fields = [plain("n", "BIGINT"), plain("t", "STRING")]
    columns = [computed("t || (n + 1)", "STRING"), plain("n", "BIGINT", name="m")]

    found = message_reader(declared, columns, fields=fields).read(
        pa.array([message] * copies, pa.binary())
    )

    assert [array.to_pylist() for array in found.arrays] == [["a8"] * copies, [7] * copies]
    assert not len(found.faults)


def test_a_record_for_which_an_expression_fails_is_refused_and_the_others_go_on() -> None:
    fields = [plain("a", "INT"), plain("b", "STRING")]
    failing = [{"a": 0}, {"a": 2, "b": "x"}, {"a": 2**31 - 1, "b": "1"}]
    fine = [{"a": 2, "b": "3"}, {"a": 3}, {"a": 2_147_483_646, "b": "1"}]
    messages = [one for pair in zip(failing, fine, strict=True) for one in pair]

    found = read([computed("6 // a + b::INT", "INT")], fields, *messages)
    sums = read([computed("a + b::INT", "INT")], fields, *messages)

    shown = "expression: the expression `6 // a + b::INT` for column out fails: "
    assert rows(found) == [
        f"{shown}Division by zero",
        6,
        f"{shown}Could not convert string 'x' to INT32 when casting from source column b",
        None,
        1,
        1,
    ]
    overflow = "Overflow in addition of INT32 (2147483647 + 1)!"
    assert rows(sums)[4].endswith(f"`a + b::INT` for column out fails: {overflow}")
    assert rows(sums)[5] == 2_147_483_647


def test_of_many_failures_the_first_ones_are_explained() -> None:
    found = read([computed("1 // a", "INT")], [plain("a", "INT")], *[{"a": 0}] * 500, {"a": 1})

    shown = rows(found)
    why = ": Division by zero"
    assert [why in str(one) for one in shown] == [True] * 20 + [False] * 481
    assert shown[499] == "expression: the expression `1 // a` for column out fails"
    assert shown[500] == 1


def test_a_message_that_is_not_read_is_not_computed() -> None:
    column = computed("coalesce(a, 5)", "INT")

    found = read([column], [plain("a", "INT")], {"a": 1}, None, b"{", {"a": "x"}, {})

    assert found.arrays[0].to_pylist() == [1, None, None, None, 5]
    assert found.faults.rows == [2, 3]
    assert rows(found)[3] == (
        'wrong_type: field a: found "x", expected INT for an expression of the stream'
    )
    nothing = read([computed("1 + 1", "INT")], [], None, b"{")
    assert nothing.arrays[0].to_pylist() == [None, None]
    assert read([column], [plain("a", "INT")]).arrays[0].to_pylist() == []


def test_an_expression_without_fields_and_the_fields_of_other_columns() -> None:
    times = plain("at", "TIMESTAMP(3)", time_format=TimeFormat("epoch_ms"))
    columns = [computed("1 + 1", "INT"), computed('hour("at")', "BIGINT"), times]
    columns[1] = MappedColumn(
        **{name: getattr(columns[1], name) for name in MappedColumn.__slots__} | {"name": "hour"}
    )

    found = read(columns, [times], {"at": 1767323045678}, {"at": None})

    assert [rows(found, place) for place in (0, 1)] == [[2, 2], [3, None]]


@pytest.mark.parametrize(
    ("expression", "column", "message"),
    [
        (
            "t || t",
            "VARCHAR(3)",
            "out_of_range: {} gives a value that does not fit, expected VARCHAR(3)",
        ),
        (
            "replace(t, 'a', repeated)".replace("repeated", "'" + "x" * 99 + "'"),
            "STRING",
            "too_large: {} gives more than 1048576 bytes, expected STRING",
        ),
        (
            "[nullif(t, t)]",
            "ARRAY<STRING NOT NULL>",
            "not_null: {} gives a null inside of its result",
        ),
        (
            "'infinity'::DATE",
            "DATE",
            "out_of_range: {} gives a value that does not fit, expected DATE",
        ),
    ],
)
def test_a_result_that_the_column_does_not_hold(expression: str, column: str, message: str) -> None:
    found = read([computed(expression, column)], [plain("t", "STRING")], {"t": "a" * 20_000})

    shown = f"the expression `{expression[:200]}` for column out"
    assert rows(found)[0].startswith(message.format(shown))


def test_results_that_do_not_fit_into_memory_together_are_computed_in_parts() -> None:
    column, field = computed("[t, t, t, t]", "ARRAY<STRING>"), plain("t", "STRING")
    texts = [str(number) * 40_000 for number in range(10)] * 10
    payloads = pa.array([json.dumps({"t": text}).encode() for text in texts], pa.binary())
    tiny = SqlEngine(memory="4MB")

    found = ComputedReader([column], [field], JsonReader, engine=tiny).read(payloads)

    assert not len(found.faults)
    assert [len(one[0]) for one in found.arrays[0].to_pylist()] == [40_000] * 100
    assert [one[3][0] for one in found.arrays[0].to_pylist()] == [text[0] for text in texts]


def test_a_record_that_needs_more_memory_than_there_is_is_refused_alone() -> None:
    column, field = computed("[t, t, t, t, t, t, t, t]", "ARRAY<STRING>"), plain("t", "STRING")
    texts = ["a", "x" * 3_000_000, "b"]
    payloads = pa.array([json.dumps({"t": text}).encode() for text in texts], pa.binary())

    found = ComputedReader([column], [field], JsonReader, engine=SqlEngine(memory="2MB")).read(
        payloads
    )

    assert found.faults.rows == [1]
    assert [one and one[0] for one in found.arrays[0].to_pylist()] == ["a", None, "b"]


def test_a_message_whose_results_could_need_too_much_memory_is_refused_by_its_size() -> None:
    expression = f"replace(t, 'x', '{'y' * 100}')"
    messages = [{"t": "a" * 2_700_000}, {"t": "a"}]

    found = read([computed(expression, "STRING")], [plain("t", "STRING")], *messages)

    assert rows(found) == [
        "too_large: the message has 2700009 bytes, and the result of an expression of the "
        "stream can have 100 times as many, more than the limit of 268435456",
        "a",
    ]


def test_a_default_is_for_a_field_that_is_missing_and_null_stays_null() -> None:
    columns = [plain("a", "DECIMAL(4,2)", default=1.50), plain("b", "DATE", default="2026-01-02")]

    found = read(columns, [], {"a": 2}, {"a": None, "b": None}, {}, None, b"{")

    assert found.arrays[0].to_pylist() == [Decimal("2.00"), None, Decimal("1.50"), None, None]
    assert [str(one) for one in found.arrays[1].to_pylist()[:3]] == [
        "2026-01-02",
        "None",
        "2026-01-02",
    ]
    assert found.missing == {}


def test_an_expression_is_missing_where_all_of_its_fields_are() -> None:
    fields = [plain("a", "INT"), plain("b", "INT")]
    messages = [{"a": 1}, {"b": None}, {}, {"a": None, "b": None}, {"a": 1, "b": 1}]

    told = read([computed("coalesce(a, 0)", "INT", finds_missing=True)], fields, *messages)
    filled = read([computed("a + b", "INT", default=7)], fields, *messages)

    assert told.missing["out"].to_pylist() == [False, True, True, False, False]
    assert rows(filled) == [None, None, 7, None, 2]


def test_an_expression_sees_no_default_of_a_column() -> None:
    columns = [computed("a IS NULL", "BOOLEAN"), plain("a", "INT", default=1)]

    found = read(columns, [columns[1]], {}, {"a": 2})

    assert [array.to_pylist() for array in found.arrays] == [[True, False], [1, 2]]


def test_undeclared_fields_are_those_that_neither_a_column_nor_an_expression_uses() -> None:
    reader = message_reader(
        JsonFormat(), [computed("a", "INT")], fields=[plain("a", "INT")], finds_undeclared=True
    )

    found = reader.read(pa.array([b'{"a": 1}', b'{"a": 1, "b": 2}'], pa.binary()))

    assert found.with_undeclared == [1]
    assert reader.tree(b'{"a": 1}') == {"a": 1}


def test_an_expression_over_other_fields_is_refused() -> None:
    with pytest.raises(ExpressionError, match="the type of the field `b` is not declared"):
        read([computed("b", "INT")], [plain("a", "INT")], {})


@pytest.mark.parametrize(
    "expression",
    [
        "item.sku",
        "(item).sku",
        "item['sku']",
        "struct_extract(item, 'sku')",
        "items[1].sku",
        "{'item': item}.item.sku",
    ],
)
def test_case_counts_in_the_names_of_a_row(expression: str) -> None:
    row = "ROW<`SKU` STRING, sku STRING>"
    value = {"SKU": "upper", "sku": "lower"}
    fields = [plain("item", row), plain("items", f"ARRAY<{row}>")]

    found = read([computed(expression, "STRING")], fields, {"item": value, "items": [value]})

    assert rows(found) == ["lower"]


@pytest.mark.parametrize("expression", ["item.sku", "(item).sku", "item['sku']"])
def test_a_name_in_other_case_is_no_name_of_a_row(expression: str) -> None:
    with pytest.raises(ExpressionError, match="`sku` is no field of this value") as caught:
        read([computed(expression, "STRING")], [plain("item", "ROW<`SKU` STRING>")], {})

    assert caught.value.hint.startswith("write the name as it is declared")


class CountingEngine(SqlEngine):
    """An engine that counts how often it evaluates."""

    count = 0

    def evaluate(self, expressions: Sequence[str], fields: pa.Table) -> list[pa.StructArray]:
        self.count += 1
        return super().evaluate(expressions, fields)


def test_an_expression_that_cannot_be_evaluated_at_all_is_not_tried_record_by_record() -> None:
    columns = [
        computed("regexp_extract(t, '((a{1,1000}){1,1000})')", "STRING"),
        computed("t || '!'", "STRING"),
    ]
    engine = CountingEngine()
    reader = ComputedReader(columns, [plain("t", "STRING")], JsonReader, engine=engine)

    found = reader.read(pa.array([b'{"t": "a"}'] * 1_000, pa.binary()))

    assert engine.count < 10
    assert found.faults.rows == list(range(1_000))
    assert found.faults[0].message.endswith("fails: invalid repetition size: {1,1000}")
    assert found.arrays[1].to_pylist() == ["a!"] * 1_000
