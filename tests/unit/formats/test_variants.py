"""VARIANT columns, read from messages of every kind and written as JSON."""

from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.formats.arrow_rows.reader import ArrowRows, ArrowRowsReader
from braid.formats.change_capture.event_columns import database_columns
from braid.formats.fault import Faults
from braid.formats.json_values import json_value, json_writer
from braid.formats.mapped_column import MappedColumn
from braid.formats.native.exact_values import native_value
from braid.formats.native.kinds import NativeKind, can_fill
from braid.formats.native.leaf_arrays import Leaf, leaf_column
from braid.formats.parsed_json import parsed_json
from braid.formats.text_values import text_column
from braid.lake import (
    DataField,
    TypeRoot,
    json_of_variant,
    json_of_variants,
    parse_type,
    variant_of_json,
    variants_of_json,
)
from tests.unit.formats.json.both_ways import given_columns, read_both_ways

VARIANT = parse_type("VARIANT")


def given(text: str) -> dict[str, bytes]:
    """Return a JSON text as a value of `pa.Array.to_pylist`."""
    value, metadata = variant_of_json(text)
    return {"value": value, "metadata": metadata}


def test_a_field_of_a_message_may_be_any_json_value() -> None:
    written = ['{"b":[1,1.50],"a":null}', "[]", '"x"', "12345678901234567890", "true", "null"]
    columns = given_columns({"id": "INT", "v": "VARIANT"}, v="data.v")

    found = read_both_ways(
        columns,
        [f'{{"id":1,"data":{{"v":{text}}}}}'.encode() for text in written]
        + [b'{"id":2}', b'{"data":null}', None],
    )

    assert found.faults.rows == []
    texts = json_of_variants(found.arrays[1]).to_pylist()
    assert texts == ['{"a":null,"b":[1,1.5]}', *written[1:], None, None, None]


def test_values_inside_of_other_columns_are_read_too() -> None:
    columns = given_columns(
        {
            "list": "ARRAY<VARIANT NOT NULL>",
            "map": "MAP<STRING, VARIANT>",
            "row": "ROW<v VARIANT, n INT>",
        }
    )
    message = b'{"list":[1,null,"x"],"map":{"a":null,"b":[2]},"row":{"n":1}}'

    found = read_both_ways(columns, [message, b'{"row":{"v":null}}'])

    assert found.faults.rows == []
    items, entries, row = (array.to_pylist()[0] for array in found.arrays)
    assert items == [given("1"), given("null"), given('"x"')]
    assert entries == [("a", given("null")), ("b", given("[2]"))]
    assert row == {"v": None, "n": 1}
    assert found.arrays[2][1].as_py() == {"v": given("null"), "n": None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":1,"a":2}', "the name 'a' occurs twice"),
        ("[" * 501 + "]" * 501, ""),
    ],
)
def test_what_is_no_value_is_a_dead_letter(text: str, reason: str) -> None:
    found = read_both_ways(given_columns({"v": "VARIANT"}), [f'{{"v":{text}}}'.encode()])

    assert found.faults.rows == [0]
    assert reason in found.faults[0].message


def test_a_number_of_any_length_is_read_alike_in_both_ways() -> None:
    texts = ["0.5" + "0" * 1500, "1" * 1500, "-" + "1" * 1500, "1e99999999999999999999"]

    found = read_both_ways(
        given_columns({"v": "VARIANT"}), [f'{{"v":{text}}}'.encode() for text in texts]
    )

    assert found.faults.rows == []
    assert found.arrays[0].to_pylist() == [given(text) for text in texts]


def test_a_text_alone_holds_json() -> None:
    faults = Faults(4)
    column = MappedColumn(name="v", path=("v",), type=VARIANT)

    found = text_column(['{"a": 1}', "null", None, "{"], column, faults, subject="field v")

    assert json_of_variants(found).to_pylist() == ['{"a":1}', "null", None, None]
    assert faults.rows == [3]
    assert "found {, expected VARIANT (not JSON" in faults[3].message


def test_native_texts_hold_json_and_other_native_values_become_it() -> None:
    texts = pa.array(["[1]", None, "x"])

    found, unfit = leaf_column(texts, Leaf(NativeKind.TEXT), VARIANT)

    assert (json_of_variants(found).to_pylist(), unfit) == (["[1]", None, None], [2])
    record = {"s": "[1]", "d": Decimal("1.50"), "b": b"\0", "l": [1, None]}
    assert native_value(record, VARIANT) == given('{"s":"[1]","d":1.50,"b":"AA==","l":[1,null]}')
    assert [kind for kind in NativeKind if not can_fill(kind, TypeRoot.VARIANT)] == [
        NativeKind.BYTES,
        NativeKind.DATE,
        NativeKind.TIME,
        NativeKind.MOMENT,
        NativeKind.UNREADABLE,
    ]


def test_values_of_parquet_files_are_taken_as_they_are() -> None:
    values = variants_of_json(pa.array(["[1]", None, '{"a":1}']))
    kind = pa.struct([("metadata", pa.large_binary()), ("value", pa.binary())])
    batch = pa.RecordBatch.from_arrays([pa.array(values.to_pylist(), kind)], names=["v"]).slice(1)
    rows = ArrowRows(batch)
    reader = ArrowRowsReader([MappedColumn(name="v", path=("v",), type=VARIANT)], rows)

    (found,) = reader.read(rows.payloads()).arrays

    assert found.equals(values[1:])


def test_texts_of_captured_changes_hold_json_and_null_is_null() -> None:
    columns = given_columns({"id": "INT", "v": "VARIANT"})
    written = ['"{\\"a\\":1}"', "null", '{"b":2}', '"null"', '"{"']

    rows = read_both_ways(
        database_columns(columns),
        [f'{{"id":{n},"v":{text}}}'.encode() for n, text in enumerate(written)],
    )

    assert json_of_variants(rows.arrays[1]).to_pylist() == [
        '{"a":1}',
        None,
        '{"b":2}',
        "null",
        None,
    ]
    assert rows.faults.rows == [4]


@pytest.mark.parametrize(
    ("text", "exact", "plain"),
    [
        ('{"b":[1,"x"],"a":null}', '{"a":null,"b":[1,"x"]}', {"a": None, "b": [1, "x"]}),
        ("9007199254740993", "9007199254740993", "9007199254740993"),
        ("[12345678901234567890.50]", "[12345678901234567890.5]", ["12345678901234567890.5"]),
        ("0.25", "0.25", 0.25),
        ("null", "null", None),
    ],
)
def test_rows_have_json_with_exact_numbers(text: str, exact: str, plain: Any) -> None:
    field = DataField(name="v", type=VARIANT)
    value = given(text)

    assert orjson.dumps(json_writer([field])({"v": value})) == f'{{"v":{exact}}}'.encode()
    for_doubles = orjson.dumps(json_writer([field], integers_as_text=True)({"v": value}))
    assert orjson.loads(for_doubles) == {"v": plain}
    assert json_value(value, VARIANT) == plain
    assert json_value([value], parse_type("ARRAY<VARIANT>")) == [plain]


def test_json_of_an_answer_becomes_the_value_that_has_this_json() -> None:
    parsed = parsed_json({"b": [1, 0.5], "a": "x"}, VARIANT)

    assert isinstance(parsed, dict)
    assert json_of_variant(**parsed) == '{"a":"x","b":[1,0.5]}'
