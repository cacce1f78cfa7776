"""Messages: values where they are accepted, a reason and a sentence where not."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.json.message_reader import JsonReader
from braid.formats.times import time_array
from braid.lake import DataField, DataType, TypeRoot, parse_type, to_arrow_type
from tests.unit.formats.json.both_ways import given_columns, read_both_ways, read_one

COLUMNS = {
    "id": "BIGINT",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "price": "DECIMAL(5, 2)",
    "code": "VARCHAR(3)",
    "bytes": "VARBINARY(2)",
    "time": "TIME(3)",
    "day": "DATE",
    "moment": "TIMESTAMP(6)",
    "instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "exact": "TIMESTAMP(9)",
    "exact_zone": "TIMESTAMP(9) WITH LOCAL TIME ZONE",
    "map": "MAP<STRING, INT>",
    "list": "ARRAY<VARCHAR(2) NOT NULL>",
    "row": "ROW<n INT NOT NULL, deep ROW<days ARRAY<DATE>, m MAP<VARCHAR(2), TIMESTAMP(3)>>>",
    "numbers": "ARRAY<DOUBLE>",
    "maps": "ARRAY<MAP<STRING, INT>>",
    "version": "INT",
}
ACCEPTED: list[tuple[str, Any, Any]] = [
    ("tiny", -128, -128),
    ("small", 32_767, 32_767),
    ("real", "NaN", "nan"),
    ("double", "Infinity", float("inf")),
    ("double", 5, 5.0),
    ("price", 1.005, Decimal("1.01")),
    ("price", "1.5", Decimal("1.50")),
    ("code", "äöü", "äöü"),
    ("code", 5, "5"),
    ("bytes", "aGk=", b"hi"),
    ("time", "12:34:56.7899", dt.time(12, 34, 56, 789_000)),
    ("time", "00:00", dt.time.min),
    (
        "moment",
        "2026-01-02 03:04:05.1234567",
        dt.datetime.fromisoformat("2026-01-02T03:04:05.123456"),
    ),
    ("moment", "0001-01-01T00:00:00", dt.datetime.fromisoformat("0001-01-01T00:00:00")),
    (
        "moment",
        "9999-12-31 23:59:59.999999",
        dt.datetime.fromisoformat("9999-12-31T23:59:59.999999"),
    ),
    ("day", "0001-01-01", dt.date.min),
    ("day", "9999-12-31", dt.date.max),
    ("day", None, None),
    ("exact", "2026-01-02T03:04:05.123456789", 1_767_323_045_123_456_789),
    ("exact", "1969-12-31T23:59:59.999999999", -1),
    *(
        ("moment", f"2026-01-02{text}", dt.datetime.fromisoformat("2026-01-02T03:04:05"))
        for text in (
            "T03:04:05Z",
            " 03:04:05Z",
            "T05:04:05.000+02:00",
            "T03:04:05",
            "T03:04:05+0000",
        )
    ),
    ("moment", "2026-01-02T03:04Z", dt.datetime.fromisoformat("2026-01-02T03:04:00")),
    ("exact", "2026-01-02T03:04", 1_767_323_040_000_000_000),
    ("exact", "2026-01-02T05:04:05.123456789+02:00", 1_767_323_045_123_456_789),
    ("exact_zone", "2026-01-02T03:04:05.1+02:00", 1_767_315_845_100_000_000),
    ("map", {"x": 1}, [("x", 1)]),
    ("list", ["ab", ""], ["ab", ""]),
    ("list", [], []),
    ("row", None, None),
    ("row", {"n": 1}, {"n": 1, "deep": None}),
    (
        "row",
        {"n": 1, "deep": {"days": ["9999-12-31", None], "m": {"ab": None}}},
        {"n": 1, "deep": {"days": [dt.date.max, None], "m": [("ab", None)]}},
    ),
    ("numbers", [1.5, "-Infinity"], [1.5, float("-inf")]),
    ("maps", [{"x": 1}, {"x": 1}, None], [[("x", 1)], [("x", 1)], None]),
    ("code", None, None),
    ("exact", None, None),
    ("time", None, None),
]
REFUSED: list[tuple[str, Any, str]] = [
    ("tiny", 128, "out_of_range"),
    ("small", -32_769, "out_of_range"),
    ("code", "abcd", "out_of_range"),
    ("bytes", "aGlp", "out_of_range"),
    ("list", ["ab", "abc"], "out_of_range"),
    ("list", ["ab", None], "not_null"),
    ("row", {"deep": None}, "not_null"),
    ("row", {"n": 1, "deep": {"days": [None, "+10000-01-01"]}}, "out_of_range"),
    ("row", {"n": 1, "deep": {"m": {"ab": "2026-01-02T00:00:00", "abc": None}}}, "out_of_range"),
    ("time", "24:00:00", "wrong_type"),
    ("time", "noon", "wrong_type"),
    ("day", "2026", "wrong_type"),
    ("day", "2026-01", "wrong_type"),
    ("day", "2026-02-30", "wrong_type"),
    ("day", "2026-01-02Z", "wrong_type"),
    ("day", "2026-01-02T00:00:00", "wrong_type"),
    ("day", " 2026-01-02", "wrong_type"),
    ("day", 20_455, "wrong_type"),
    ("day", "0000-12-31", "out_of_range"),
    ("day", "10000-01-01", "out_of_range"),
    ("day", "+10000-01-01", "out_of_range"),
    ("day", "-0001-01-01", "out_of_range"),
    ("instant", 1_767_323_045_000, "wrong_type"),
    ("instant", 1_767_323_045, "wrong_type"),
    ("instant", 1.5, "wrong_type"),
    ("instant", True, "wrong_type"),
    ("instant", "1767323045", "wrong_type"),
    ("instant", "2026-01-02T03:04:05 Europe/Berlin", "wrong_type"),
    ("instant", "2026-01-02T25:04:05Z", "wrong_type"),
    ("instant", "9999-12-31T23:59:59-01:00", "out_of_range"),
    ("instant", "0001-01-01T00:00:00+01:00", "out_of_range"),
    ("instant", "294000-01-01T00:00:00Z", "out_of_range"),
    ("moment", 1_767_323_045, "wrong_type"),
    ("moment", "", "wrong_type"),
    ("moment", "10000-01-01T00:00:00", "out_of_range"),
    ("exact", "3000-01-01T00:00:00", "out_of_range"),
    ("moment", "9999-12-31T23:59:59-01:00", "out_of_range"),
    ("moment", "2026-01-02", "wrong_type"),
    ("exact", "2026-02-30T00:00:00", "wrong_type"),
    ("exact_zone", "2026", "wrong_type"),
    ("version", "1", "wrong_type"),
    ("tiny", 1.5, "wrong_type"),
    ("price", 1_000, "out_of_range"),
    ("map", [], "wrong_type"),
]
# Parts that Spark could not check.
PARTS: list[tuple[str, Any, Any]] = [
    ("ARRAY<TINYINT>", [-128, None, 127], [-128, None, 127]),
    ("ARRAY<TINYINT>", [128], "out_of_range"),
    ("MAP<STRING, SMALLINT>", {"x": -32_769}, "out_of_range"),
    ("ARRAY<CHAR(3)>", ["abc", 5], ["abc", "5"]),
    ("ARRAY<CHAR(3)>", ["abcd"], "out_of_range"),
    ("MAP<STRING, BINARY(2)>", {"x": "aGk="}, [("x", b"hi")]),
    ("MAP<STRING, BINARY(2)>", {"x": "aGlp"}, "out_of_range"),
    ("MAP<STRING, TIME(3)>", {"x": "00:01:00.0019"}, [("x", dt.time(0, 1, 0, 1_000))]),
    ("MAP<STRING, TIME(3)>", {"x": "24:00"}, "wrong_type"),
    ("ARRAY<TIMESTAMP(9)>", ["3000-01-01T00:00:00"], "out_of_range"),
    (
        "ARRAY<TIMESTAMP(6)>",
        ["2026-01-02T05:04:05+02:00"],
        [dt.datetime.fromisoformat("2026-01-02T03:04:05")],
    ),
    (
        "ARRAY<TIMESTAMP(3)>",
        ["1969-12-31T23:59:59.9999"],
        [dt.datetime.fromisoformat("1969-12-31T23:59:59.999")],
    ),
]


@pytest.mark.parametrize(("name", "given", "expected"), ACCEPTED)
def test_values_are_read_as_declared(name: str, given: Any, expected: Any) -> None:
    values, reason, _ = read_one(COLUMNS, {"id": 1, "version": 1, name: given})

    assert reason is None
    assert "nan" if values[name] != values[name] else values[name] == expected
    assert (values["id"], values["version"]) == (1, 1)


@pytest.mark.parametrize(("name", "given", "expected"), REFUSED)
def test_values_that_are_not_of_their_type_refuse_the_record(
    name: str, given: Any, expected: str
) -> None:
    _, reason, message = read_one(COLUMNS, {"id": 1, "version": 1} | {name: given})

    assert reason == expected
    assert message.startswith(f"field {name}")
    assert message.endswith(f" for column {name}")


@pytest.mark.parametrize(("sql", "given", "expected"), PARTS)
def test_parts_of_a_value_are_checked_like_columns(sql: str, given: Any, expected: Any) -> None:
    values, reason, _ = read_one({"c": sql}, {"c": given})

    assert (values["c"] if reason is None else reason) == expected


@pytest.mark.parametrize("sql", ["CHAR(3)", "TIMESTAMP(9)", "TINYINT", "TIME(3)"])
def test_a_row_has_fields_of_every_type(sql: str) -> None:
    kind = DataType(root=TypeRoot.ROW, fields=(DataField(name="x", type=parse_type(sql)),))
    fitting = {"TINYINT": 1, "CHAR(3)": "abc", "TIME(3)": "03:04"}.get(sql, "2026-01-02T03:04")
    beyond = {"TINYINT": 128, "CHAR(3)": "abcd", "TIME(3)": 1}.get(sql, "1500-01-02T03:04")

    assert read_one({"c": kind}, {"c": {"x": fitting}})[1] is None
    assert read_one({"c": kind}, {"c": {"x": beyond}})[1] in ("out_of_range", "wrong_type")


def test_columns_have_the_arrow_form_of_their_type() -> None:
    columns = given_columns(COLUMNS)

    found = read_both_ways(columns, [b"{}", b"{", None])

    assert [array.type for array in found.arrays] == [to_arrow_type(c.type) for c in columns]
    assert found.faults.rows == [1]


def test_faults_are_those_of_their_rows() -> None:
    messages = [b'{"id": 1}', b'{"id": "x"}', None, b'{"id": 4, "tiny": 500}', b"{", b'{"id": 6}']

    found = read_both_ways(given_columns(COLUMNS), messages)

    assert found.arrays[0].to_pylist() == [1, None, None, None, None, 6]
    assert found.faults.rows == [1, 3, 4]


def test_paths_lead_into_nested_objects() -> None:
    types = {"id": "INT", "a": "INT", "b": "INT", "version": "INT"}
    columns = given_columns(types, id="k.id", a="v.x.a", b="v.b")
    messages = [
        b'{"k": {"id": 1}, "v": {"x": {"a": 2}, "b": 3}, "version": 4}',
        b'{"k": {"id": 1}, "v": null, "version": 4}',
        b'{"k": 1, "version": 4}',
        b'{"version": 4}',
    ]

    found = read_both_ways(columns, messages)

    rows = list(zip(*(array.to_pylist() for array in found.arrays), strict=True))
    assert rows == [
        (1, 2, 3, 4),
        (1, None, None, 4),
        (None, None, None, None),
        (None, None, None, 4),
    ]
    assert found.faults.rows == [2]
    assert found.faults[2].message == "field k: found a number, expected an object"


def test_a_value_where_an_object_should_be_is_named() -> None:
    _, reason, message = read_one({"id": "INT"}, b'{"a": {"b": "text"}}', id="a.b.id")

    assert reason == "wrong_type"
    assert message == "field a.b: found a string, expected an object"


@pytest.mark.parametrize("text", ["05", "05Z", "05.000+00:00", "05+0000", "05+00"])
def test_instants_are_read_in_their_zone_or_in_utc(text: str) -> None:
    message = {"instant": f"2026-01-02T03:04:{text}"}

    values, reason, _ = read_one({"instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE"}, message)

    assert reason is None
    assert values["instant"].timestamp() == 1_767_323_045


@pytest.mark.parametrize("number", ["INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity"])
def test_infinities_may_be_written_without_quotes(number: str) -> None:
    text = f'{{"text": "INF +Infinity \\" -INF", "double": {number}, "other": {number}}}'

    values, reason, _ = read_one({"double": "DOUBLE", "text": "STRING"}, text.encode())

    assert reason is None
    assert values["double"] == float(number)
    assert values["text"] == 'INF +Infinity " -INF'


@pytest.mark.parametrize("number", ["-+INF", "+-INF", "-+Infinity", "++Infinity"])
def test_infinities_have_one_sign(number: str) -> None:
    _, reason, _ = read_one({"double": "DOUBLE"}, f'{{"double": {number}}}'.encode())

    assert reason == "malformed"


NUMBERS_AS_TEXT = {
    "id": "BIGINT",
    "t": "STRING",
    "p_t": "STRING",
    "code": "VARCHAR(3)",
    "list": "ARRAY<STRING>",
    "map": "MAP<STRING, STRING>",
    "row": "ROW<x STRING, at TIMESTAMP(6)>",
}
LONG = "0.1234567890123456789012345"
TEXTS: list[tuple[str, dict[str, Any]]] = [
    (f'{{"id": 1, "t": {LONG}}}', {"t": LONG}),
    ('{"id": 1, "t": 1.10}', {"t": "1.10"}),
    ('{"id": 1, "t" : 1E2}', {"t": "1E2"}),
    ('{"id": 1, "t": -1e400}', {"t": "-1e400"}),
    ('{"id": 1, "\\u0074": 1.10}', {"t": "1.10"}),
    ('{"id": 1, "t": 123456789012345678901234567890}', {"t": "123456789012345678901234567890"}),
    (
        '{"id": 1, "t": {"a": 1.10, "a": [1e400, 7], "é\\n": "1.50", "n": null, "b": true}}',
        {"t": '{"a":1.10,"a":[1e400,7],"é\\n":"1.50","n":null,"b":true}'},
    ),
    ('{"id": 1, "t": [1.10]}', {"t": "[1.10]"}),
    ('{"id": 1, "p": {"t": 2.50}, "t": "1.10"}', {"t": "1.10", "p_t": "2.50"}),
    ('{"id": 1, "list": [1.10, "1.20", null, 3]}', {"list": ["1.10", "1.20", None, "3"]}),
    ('{"id": 1, "map": {"1.0": 1.10}}', {"map": [("1.0", "1.10")]}),
    (
        '{"id": 1, "row": {"x": 1.10, "at": "2026-01-02T00:00:00"}}',
        {"row": {"x": "1.10", "at": dt.datetime.fromisoformat("2026-01-02T00:00:00")}},
    ),
]
AS_TEXTS: list[tuple[str, dict[str, Any]]] = [
    ('{"id": 1, "t": "1.10", "other": 1.10}', {"t": "1.10"}),
    ('{"id": 1, "t": "[1.10]"}', {"t": "[1.10]"}),
    ('{"id": 1, "t": 5}', {"t": "5"}),
    ('{"id": 1, "t": {"a": "1.10"}}', {"t": '{"a":"1.10"}'}),
    (
        '{"id": 1, "list": ["1.10"], "map": {"a": "1.10"}}',
        {"list": ["1.10"], "map": [("a", "1.10")]},
    ),
]


@pytest.mark.parametrize(("message", "expected"), [*TEXTS, *AS_TEXTS])
def test_numbers_in_text_columns_are_kept_as_written(
    message: str, expected: dict[str, Any]
) -> None:
    values, reason, _ = read_one(NUMBERS_AS_TEXT, message.encode(), p_t="p.t")

    assert reason is None
    assert {name: values[name] for name in expected} == expected


def test_a_text_is_too_long_as_it_was_written() -> None:
    _, reason, message = read_one(NUMBERS_AS_TEXT, b'{"id": 1, "code": 1.10}', p_t="p.t")

    assert reason == "out_of_range"
    assert message == "field code: found 1.10, expected VARCHAR(3) for column code"


HALVES = {
    r'{"id": 1, "t": "\ud800"}': "t",
    r'{"id": 1, "t": "x\uDFFFy"}': "t",
    r'{"id": 1, "t": "\ud83d\ud83d\ude00"}': "t",
    r'{"id": 1, "t": "\ud83d\\\ude00"}': "t",
    r'{"id": 1, "t": "\\\ud800"}': "t",
    r'{"id": 1, "t": {"x": ["\ud800"]}}': "t",
    r'{"id": 1, "t": {"\ud800": 1}}': "t",
    r'{"id": 1, "list": ["a", "\ud800"]}': "list",
    r'{"id": 1, "map": {"\ud800": 1}}': "map",
    r'{"id": 1, "row": {"x": "\ud800"}}': "row",
    r'{"id": 1, "t": "\ud83d\ude00"}': None,
    r'{"id": 1, "t": "\\ud800"}': None,
    r'{"id": 1, "t": "\\\\ud83d\\ude00"}': None,
    r'{"id": 1, "t": "?", "other": "\ud800", "row": {"y": "\ud800"}}': None,
}
"""Messages, and the column that has half of a surrogate pair; None where no declared one has."""


HALVES_IN = {
    "id": "BIGINT",
    "t": "STRING",
    "list": "ARRAY<STRING>",
    "map": "MAP<STRING, INT>",
    "row": "ROW<x STRING>",
}


@pytest.mark.parametrize(("message", "column"), HALVES.items())
def test_half_of_a_surrogate_pair_is_refused_and_not_replaced(
    message: str, column: str | None
) -> None:
    _, reason, explanation = read_one(HALVES_IN, message.encode())

    assert reason == (None if column is None else "wrong_type")
    if column is not None:
        assert explanation.endswith(f"without half of a surrogate pair for column {column}")


def test_whole_surrogate_pairs_and_their_escapes_are_kept() -> None:
    accepted = [text for text, column in HALVES.items() if column is None]

    texts = [read_one(HALVES_IN, text.encode())[0]["t"] for text in accepted]

    assert texts == ["\U0001f600", r"\ud800", r"\\ud83d\ude00", "?"]


def test_other_fields_of_objects_on_a_path_are_not_checked() -> None:
    columns = given_columns(
        {"id": "BIGINT", "a": "INT", "version": "INT"},
        id="after.id",
        a="after.more.a",
        version="after.version",
    )
    messages = [
        b'{"before": {}, "op": "u", "after": {"id": 1, "version": 1, "more": {"a": 1}}}',
        b'{"after": {"id": 1, "version": 1, "more": {"a": 1, "b": 2}}}',
        b'{"after": {"id": 1, "version": 1, "less": {"a": 1}}}',
        b'{"after": {"id": 1, "version": 1, "x": 1, "x": 1}}',
    ]

    found = read_both_ways(columns, messages, finds_undeclared=True)

    assert found.with_undeclared == [1, 2, 3]


def test_fields_that_other_streams_read_are_declared() -> None:
    found = read_both_ways(
        given_columns({"id": "BIGINT"}),
        [b'{"id": 1, "other": 1, "deep": {"er": 1, "x": 2}}', b'{"id": 1, "mine": 1}'],
        finds_undeclared=True,
        paths_of_other_streams=[("other",), ("deep", "er")],
    )

    assert found.with_undeclared == [1]


def test_names_that_no_decoder_has_are_read_exactly() -> None:
    values, reason, _ = read_one({"a": "INT"}, {'x"y': 1}, a='x"y')

    assert (values["a"], reason) == (1, None)


def test_a_message_as_a_tree_has_its_numbers_as_written() -> None:
    tree = JsonReader(given_columns({"id": "INT"})).tree(b'{"a": [1.10, 2]}')

    assert tree == {"a": [Decimal("1.10"), 2]}
    assert tree["a"][0].text == "1.10"


def test_a_stream_of_numbers_for_texts_is_decoded_with_raw_texts() -> None:
    columns = given_columns({"id": "INT", "t": "STRING"})
    reader = JsonReader(columns)
    usual = [b'{"id": 1, "t": "x"}'] * 99
    first, raw = reader._decoder, reader._raw_text_decoder

    reader.read(pa.array([*usual, b'{"id": 1, "t": 1.10}'], pa.binary()))
    few = reader._decoder
    reader.read(pa.array([b'{"id": "no number"}'] * 100, pa.binary()))
    bad = reader._decoder
    again = JsonReader(columns)
    found = again.read(pa.array([b'{"id": 1, "t": 1.10}'] * 100, pa.binary()))

    assert few is bad is first
    assert raw is not None
    assert again._decoder is not None
    assert again._decoder.raw_columns == {"t"}
    assert found.arrays[1].to_pylist() == ["1.10"] * 100


def test_one_impossible_date_leaves_the_other_dates_to_the_fast_reader() -> None:
    texts = ["2026-01-02"] * 500 + ["2026-02-30"] + ["2026-03-04"] * 500

    found = time_array(pa.array(texts), parse_type("DATE"))

    assert found.null_count == 1
    assert not found[500].is_valid


PRESENCE = [
    (b'{"id": 1, "n": 1, "o": {"t": "x", "m": {}}}', []),
    (b'{"id": 1, "n": null, "o": {"t": null, "m": null}}', []),
    (b'{"id": 1}', ["n", "t", "m"]),
    (b'{"id": 1, "n": 1, "o": null}', ["t", "m"]),
    (b'{"id": 1, "n": 1, "o": {}}', ["t", "m"]),
    (b'{"id": 1, "n": 1, "o": {"t": 5}}', ["m"]),
    (b'{"id": 1, "n": 1, "n": null, "o": {"t": "x", "m": {}}}', []),
    (b'{"id": 1, "n": 1, "o": {"t": "x", "m": {}}, "o": {}}', ["t", "m"]),
    (b'{"id": 1, "o": 7}', []),  # faulty
    (b'{"id": 1, "n": "one"}', []),  # faulty
    (b"{", []),  # faulty
    (None, ["n", "t", "m"]),
]


def test_a_missing_field_is_told_from_null() -> None:
    types = {"id": "INT", "n": "INT", "t": "STRING", "m": "MAP<STRING, INT>"}
    columns = [
        replace(column, finds_missing=column.name != "id")
        for column in given_columns(types, t="o.t", m="o.m")
    ]

    found = read_both_ways(columns, [message for message, _ in PRESENCE])

    assert found.missing.keys() == {"n", "t", "m"}
    for row, (_, expected) in enumerate(PRESENCE):
        assert [name for name, mask in found.missing.items() if mask[row].as_py()] == expected, row


def test_two_columns_of_one_field_can_differ_in_whether_its_absence_matters() -> None:
    plain, tells = given_columns({"a": "INT", "b": "INT"}, a="n", b="n")

    found = read_both_ways([plain, replace(tells, finds_missing=True)], [b"{}", b'{"n": 1}'])

    assert [array.to_pylist() for array in found.arrays] == [[None, 1], [None, 1]]
    assert {name: mask.to_pylist() for name, mask in found.missing.items()} == {"b": [True, False]}
