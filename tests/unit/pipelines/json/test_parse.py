"""Messages: values and types where they are accepted, a reason where not."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from braid.lake import UnsupportedFeature
from braid.lake.format.partition_path import escape
from braid.pipelines.json.parse import RecordParser
from braid.pipelines.partition_names import partition_bytes_max
from braid.pipelines.record_columns import (
    INEXACT,
    PARTITION_TOO_LONG,
    UNDECLARED,
    UNPARSABLE,
    value_column,
)
from braid.pipelines.sink.exact_text import with_exact_texts
from braid.pipelines.sink.long_keys import refuse_long_keys
from braid.pipelines.stream_plan import StreamPlan
from tests.unit.pipelines.given_streams import given_plan, given_spec

pytestmark = [pytest.mark.spark]

ESCAPED = "\x00\x1f\"#%'*/:=?\\\x7f{}[]^"
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
    ("time", "12:34:56.7899", 45_296_789),
    ("time", "00:00", 0),
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
    ("map", {"x": 1}, {"x": 1}),
    ("list", ["ab", ""], ["ab", ""]),
    ("list", [], []),
    ("row", None, None),
    ("row", {"n": 1}, {"n": 1, "deep": None}),
    (
        "row",
        {"n": 1, "deep": {"days": ["9999-12-31", None], "m": {"ab": None}}},
        {"n": 1, "deep": {"days": [dt.date.max, None], "m": {"ab": None}}},
    ),
    ("numbers", [1.5, "-Infinity"], [1.5, float("-inf")]),
    ("maps", [{"x": 1}, {"x": 1}, None], [{"x": 1}, {"x": 1}, None]),
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
    ("version", "1", UNPARSABLE),
    ("tiny", 1.5, UNPARSABLE),
    ("price", 1_000, UNPARSABLE),
    ("map", [], UNPARSABLE),
]
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
    (b'{"id": 1, "version": 1}{"id": 2, "version": 1}', UNPARSABLE, None),
    (b'{"id": 1, "version": 1}\n{"id": 2, "version": 1}\n', UNPARSABLE, None),
    (b'{"id": 1, "version": 1} and more', UNPARSABLE, None),
    (b"{'id': 1, 'version': 1}", UNPARSABLE, None),
    (b'{"id": 1, "version": 1', UNPARSABLE, None),
    (b'[{"id": 1, "version": 1}]', UNPARSABLE, None),
    (b'{"id": 1, "version": 1, "code": "\xff"}', UNPARSABLE, None),
    (b"", UNPARSABLE, None),
    (b"null", UNPARSABLE, None),
    (None, "tombstone", None),
    (b'"' + b"x" * 300 + b'"', "too_large", None),
    (b"{}", "missing_key", "id"),
    (b'{"ID": 1, "version": 1}', "missing_key", "id"),
    (b'{"id": null, "version": 1}', "missing_key", "id"),
    (b'{"id": 1, "code": "x"}', "null_ordering", "version"),
]


def _parsed(session: SparkSession, plan: StreamPlan, values: Sequence[bytes | None]) -> DataFrame:
    session.conf.set("spark.sql.caseSensitive", "true")
    records = session.createDataFrame(
        [(number, value) for number, value in enumerate(values)], "offset bigint, value binary"
    ).selectExpr(
        "0 AS partition",
        "offset",
        "timestamp_millis(0) AS timestamp",
        "encode('the key', 'UTF-8') AS key",
        "value",
        "array(named_struct('key', 'h', 'value', encode('v', 'UTF-8'))) AS headers",
    )
    return RecordParser(plan)(records)


def _parse(
    session: SparkSession, plan: StreamPlan, values: Sequence[bytes | None]
) -> list[dict[str, Any]]:
    rows = _parsed(session, plan, values).collect()
    return [row.asDict(recursive=True) for row in sorted(rows, key=lambda row: row.kafka_offset)]


@pytest.fixture(scope="module")
def plan() -> StreamPlan:
    return given_plan(given_spec(COLUMNS), max_message_bytes=200)


def test_values_are_read_as_declared(spark: SparkSession, plan: StreamPlan) -> None:
    messages = [{"id": 1, "version": 1, name: value} for name, value, _ in ACCEPTED]
    index = {column.name: number for number, column in enumerate(plan.columns)}

    rows = _parse(spark, plan, [json.dumps(message).encode() for message in messages])

    found = [
        (name, given, row["reason"], row[value_column(index[name])])
        for (name, given, _), row in zip(ACCEPTED, rows, strict=True)
    ]
    found = [(*rest, "nan" if value != value else value) for *rest, value in found]
    assert found == [(name, given, None, expected) for name, given, expected in ACCEPTED]
    assert {row["raw_key"] for row in rows} == {row["raw_value"] for row in rows} == {None}


def test_values_that_are_not_of_their_type_refuse_the_record(
    spark: SparkSession, plan: StreamPlan
) -> None:
    messages = [{"id": 1, "version": 1} | {name: value} for name, value, _ in REFUSED]

    rows = _parse(spark, plan, [json.dumps(message).encode() for message in messages])

    found = [
        (name, given, row["reason"], row["detail"])
        for (name, given, _), row in zip(REFUSED, rows, strict=True)
    ]
    assert found == [
        (name, given, reason, None if reason == UNPARSABLE else name)
        for name, given, reason in REFUSED
    ]


def test_messages_are_accepted_or_refused_with_their_raw_parts(
    spark: SparkSession, plan: StreamPlan
) -> None:
    rows = _parse(spark, plan, [value for value, _, _ in WHOLE])

    assert [(row["reason"], row["detail"]) for row in rows] == [
        (reason, detail) for _, reason, detail in WHOLE
    ]
    assert [row["raw_value"] for row in rows] == [
        None if reason is None else value for value, reason, _ in WHOLE
    ]
    refused = [row for row in rows if row["reason"] is not None]
    assert {row["raw_key"] for row in refused} == {b"the key"}
    assert {row["raw_headers"] for row in refused} == {'[{"key":"h","value":"dg=="}]'}


def test_paths_lead_into_nested_objects(spark: SparkSession) -> None:
    spec = given_spec({"id": "INT", "a": "INT", "b": "INT", "version": "INT"})
    columns = [
        {"column": "id", "path": "k.id"},
        {"column": "a", "path": "v.x.a"},
        {"column": "b", "path": "v.b"},
        {"column": "version"},
    ]
    plan = given_plan(spec, columns=columns)
    values = [
        b'{"k": {"id": 1}, "v": {"x": {"a": 2}, "b": 3}, "version": 4}',
        b'{"k": {"id": 1}, "v": null, "version": 4}',
        b'{"k": 1, "version": 4}',
        b'{"version": 4}',
    ]

    first, second, third, fourth = _parse(spark, plan, values)

    assert [first[value_column(i)] for i in range(4)] == [1, 2, 3, 4]
    assert [second[value_column(i)] for i in range(4)] == [1, None, None, 4]
    assert (third["reason"], fourth["reason"]) == (UNPARSABLE, "missing_key")


@pytest.mark.parametrize("text", ["05", "05Z", "05.000+00:00", "05+0000", "05+00"])
def test_instants_are_read_in_their_zone_or_in_utc(spark: SparkSession, text: str) -> None:
    sql = "TIMESTAMP(3) WITH LOCAL TIME ZONE"
    plan = given_plan(given_spec({"id": "INT", "instant": sql}, ordering=None))
    value = json.dumps({"id": 1, "instant": f"2026-01-02T03:04:{text}"}).encode()

    (row,) = _parse(spark, plan, [value])

    assert row["reason"] is None
    instants = spark.createDataFrame([(row[value_column(1)],)], "at timestamp")
    assert instants.selectExpr("unix_micros(at)").collect()[0][0] == 1_767_323_045_000_000


def test_a_text_too_long_to_name_a_directory_refuses_the_record(spark: SparkSession) -> None:
    spec = given_spec({"id": "INT", "p": "STRING", "version": "INT"}, ordering=None)
    spec = spec.model_copy(update={"primary_key": ("id", "p"), "partition_keys": ("p",)})
    plan = given_plan(spec.model_copy(update={"sequence_groups": ()}))
    texts = ["x" * 253, "x" * 254, "ä" * 127, ESCAPED, ESCAPED + "x" * (254 - 3 * len(ESCAPED))]
    assert len(escape(ESCAPED)) == 3 * len(ESCAPED)

    rows = _parse(spark, plan, [json.dumps({"id": 1, "p": text}).encode() for text in texts])

    assert partition_bytes_max("p") == 253
    assert partition_bytes_max("a/b") == 255 - len("a%2Fb=")
    found = [(row["reason"], row["detail"]) for row in rows]
    refused = (PARTITION_TOO_LONG, "p")
    assert found == [(None, None), refused, refused, (None, None), refused]


def test_records_without_ordering_pass_where_the_stream_clears_them(spark: SparkSession) -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"})

    (row,) = _parse(spark, given_plan(spec, on_null_ordering="clear"), [b'{"id": 1, "a": 2}'])

    assert row["reason"] is None


@pytest.mark.parametrize("sql", ["ARRAY<TINYINT>", "MAP<STRING, TIME(3)>", "MULTISET<INT>"])
def test_types_that_json_cannot_hold_are_refused_at_the_start(
    spark: SparkSession, sql: str
) -> None:
    plan = given_plan(given_spec({"id": "INT", "a": sql}, ordering=None))

    with pytest.raises(UnsupportedFeature, match="column a cannot be read"):
        _parse(spark, plan, [b"{}"])


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


def test_fields_that_are_not_declared_are_found(spark: SparkSession) -> None:
    spec = given_spec(NESTED)
    values = [text.encode() for text, _, _ in UNDECLARED_IN]

    ignored = _parse(spark, given_plan(spec), values)
    rejected = _parse(spark, given_plan(spec, on_new_field="reject"), values)
    marked = _parse(spark, given_plan(spec, on_new_field="evolve"), values)

    assert [row["reason"] for row in ignored] == [None] * len(values)
    found = [
        (text, reject["reason"] == "new_field", evolve[UNDECLARED])
        for (text, _, _), reject, evolve in zip(UNDECLARED_IN, rejected, marked, strict=True)
    ]
    assert found == UNDECLARED_IN
    assert {row["reason"] for row in marked} == {None}
    raw = [row["raw_value"] is not None for row in marked]
    assert raw == [is_marked for _, _, is_marked in UNDECLARED_IN]


def test_other_fields_of_objects_on_a_path_are_not_checked(
    spark: SparkSession,
) -> None:
    spec = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})
    columns = [
        {"column": "id", "path": "after.id"},
        {"column": "a", "path": "after.more.a"},
        {"column": "version", "path": "after.version"},
    ]
    plan = given_plan(spec, columns=columns, on_new_field="evolve")
    values = [
        b'{"before": {}, "op": "u", "after": {"id": 1, "version": 1, "more": {"a": 1}}}',
        b'{"after": {"id": 1, "version": 1, "more": {"a": 1, "b": 2}}}',
        b'{"after": {"id": 1, "version": 1, "less": {"a": 1}}}',
        b'{"after": {"id": 1, "version": 1, "x": 1, "x": 1}}',
    ]

    assert [row[UNDECLARED] for row in _parse(spark, plan, values)] == [False, True, True, True]


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
AS_TEXTS = [
    '{"id": 1, "t": "1.10", "other": 1.10}',
    '{"id": 1, "t": "[1.10]"}',
    '{"id": 1, "t": 5}',
    '{"id": 1, "t": {"a": "1.10"}}',
    '{"id": 1, "list": ["1.10"], "map": {"a": "1.10"}}',
]


def test_numbers_in_text_columns_are_kept_as_written(spark: SparkSession) -> None:
    types = {
        "id": "BIGINT",
        "t": "STRING",
        "p_t": "STRING",
        "code": "VARCHAR(3)",
        "list": "ARRAY<STRING>",
        "map": "MAP<STRING, STRING>",
        "row": "ROW<x STRING, at TIMESTAMP(6)>",
    }
    paths = [{"column": name, **({"path": "p.t"} if name == "p_t" else {})} for name in types]
    plan = given_plan(given_spec(types, ordering=None), columns=paths)
    long = b'{"id": 1, "code": 1.10}'
    texts = [*(text for text, _ in TEXTS), *AS_TEXTS]

    parsed = _parsed(spark, plan, [*(text.encode() for text in texts), long])
    arrow = parsed.toArrow().sort_by("kafka_offset").combine_chunks().to_batches()[0]
    exact = with_exact_texts(arrow, plan)

    index = {name: number for number, name in enumerate(types)}
    rows = exact.to_pylist()
    found = [
        (text, {name: row[value_column(index[name])] for name in expected})
        for (text, expected), row in zip(TEXTS, rows, strict=False)
    ]
    assert found == TEXTS
    assert [row[INEXACT] for row in rows[len(TEXTS) : -1]] == [False] * len(AS_TEXTS)
    assert {row["reason"] for row in rows[:-1]} == {None}
    assert (rows[-1]["reason"], rows[-1]["detail"]) == ("out_of_range", "code")


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


def test_half_of_a_surrogate_pair_is_refused_and_not_replaced(spark: SparkSession) -> None:
    types = {
        "id": "BIGINT",
        "t": "STRING",
        "list": "ARRAY<STRING>",
        "map": "MAP<STRING, INT>",
        "row": "ROW<x STRING>",
    }
    plan = given_plan(given_spec(types, ordering=None))

    parsed = _parsed(spark, plan, [text.encode() for text in HALVES])
    arrow = parsed.toArrow().sort_by("kafka_offset").combine_chunks().to_batches()[0]
    rows = with_exact_texts(arrow, plan).to_pylist()

    found = {text: row["detail"] for text, row in zip(HALVES, rows, strict=True)}
    assert found == HALVES
    assert {row["reason"] for row in rows} == {"wrong_type", None}
    texts = [row["value_1"] for row in rows if row["reason"] is None]
    assert texts == ["\U0001f600", r"\ud800", r"\\ud83d\ude00", "?"]


def test_a_key_that_is_too_long_is_refused_with_its_value(spark: SparkSession) -> None:
    spec = given_spec({"id": "STRING", "a": "STRING", "version": "INT"})
    plan = replace(given_plan(spec), key_bytes_max=4)
    messages = [{"id": text, "a": "long enough", "version": 1} for text in ("abcd", "äöü")]

    short, long = _parse(spark, plan, [json.dumps(message).encode() for message in messages])

    assert short["reason"] is None
    assert (long["reason"], long["detail"]) == ("too_large", "key")
    assert json.loads(long["raw_value"]) == messages[1]


def test_a_key_that_is_too_long_as_it_was_written_is_refused(spark: SparkSession) -> None:
    spec = given_spec({"id": "STRING", "a": "INT", "version": "INT"})
    plan = replace(given_plan(spec), key_bytes_max=8)
    parsed = _parsed(spark, plan, [b'{"id": 1.00000000000000000000, "version": 1}'])

    batch = parsed.toArrow().combine_chunks().to_batches()[0]
    found = refuse_long_keys(with_exact_texts(batch, plan), plan)

    assert found.column("reason").to_pylist() == ["too_large"]
