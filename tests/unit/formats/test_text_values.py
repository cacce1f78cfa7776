"""Texts that stand alone are read as values of a type, alike one by one and in columns."""

import sys
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.fault import Faults
from braid.formats.json.exact_values import ValueFault
from braid.formats.mapped_column import MappedColumn
from braid.formats.text_values import plain_values, text_column, text_value
from braid.lake import parse_type, to_arrow_type

FITTING = [
    ("BOOLEAN", ["true", "false"]),
    ("TINYINT", ["-128", "127", "+7", "007"]),
    ("BIGINT", ["9223372036854775807", "-9223372036854775808", "-0"]),
    ("FLOAT", ["1.5", "NaN", "-Infinity", "1e30", ".5", "5."]),
    ("DOUBLE", ["1.5", "1e300", "INF", "0.1", "-0.0"]),
    ("DECIMAL(5, 2)", ["1", "-1.50", "999.99", "1.005", "1e2", "000001.5"]),
    ("DECIMAL(2, 2)", ["0.15", ".15", "-0.99"]),
    ("VARCHAR(3)", ["", "abc", "äöü", " x "]),
    ("VARBINARY(2)", ["aGk=", ""]),
    ("DATE", ["2026-01-02", "0001-01-01"]),
    ("TIME(3)", ["03:04", "03:04:05.6789"]),
    ("TIMESTAMP(3)", ["2026-01-02T03:04:05.6789Z", "2026-01-02 03:04", "1969-12-31T23:59:59.9999"]),
    ("TIMESTAMP(9) WITH LOCAL TIME ZONE", ["2026-01-02T03:04:05.123456789+02:00"]),
    ("ARRAY<INT>", ["[1, null]", "[]"]),
    ("MAP<STRING, INT>", ['{"a": 1}']),
    ("ROW<n INT>", ['{"n": 1}', "{}"]),
]
UNFIT = [
    ("BOOLEAN", ["yes", "TRUE", "1", ""], "wrong_type"),
    ("TINYINT", ["128", "-129"], "out_of_range"),
    ("INT", ["1.0", "1e2", " 1", "", "one", "--1"], "wrong_type"),
    ("BIGINT", ["9223372036854775808", "1" * 500], "out_of_range"),
    ("DOUBLE", ["1e400", "-1e999"], "out_of_range"),
    ("FLOAT", ["1e39"], "out_of_range"),
    ("DOUBLE", ["one", "1_0", "", "infinity", "0x10"], "wrong_type"),
    ("DECIMAL(5, 2)", ["1000", "999.995", "1e3"], "out_of_range"),
    ("DECIMAL(5, 2)", ["NaN", "1,5", ""], "wrong_type"),
    ("VARCHAR(3)", ["abcd"], "out_of_range"),
    ("VARBINARY(2)", ["aGlp"], "out_of_range"),
    ("VARBINARY(2)", ["*", "a"], "wrong_type"),
    ("DATE", ["2026-02-30", "2026-1-2", "20260102"], "wrong_type"),
    ("DATE", ["10000-01-01"], "out_of_range"),
    ("TIMESTAMP(9)", ["3000-01-01T00:00:00"], "out_of_range"),
    ("ARRAY<INT>", ["1", "[1", '["x"]', "[" * 5_000], "wrong_type"),
]


def column(texts: list[str | None], sql: str) -> tuple[pa.Array, Faults]:
    faults = Faults(len(texts))
    mapped = MappedColumn(name="c", path=("c",), type=parse_type(sql))
    return text_column(texts, mapped, faults, subject="field c"), faults


@pytest.mark.parametrize(("sql", "texts"), FITTING, ids=str)
def test_a_column_of_texts_is_its_texts_one_by_one(sql: str, texts: list[str]) -> None:
    data_type = parse_type(sql)
    expected = pa.array(
        [*(text_value(text, data_type) for text in texts), None], to_arrow_type(data_type)
    )

    found, faults = column([*texts, None], sql)

    assert found.type == expected.type
    assert list(map(str, found.to_pylist())) == list(map(str, expected.to_pylist()))
    assert len(faults) == 0


@pytest.mark.parametrize(("sql", "texts", "reason"), UNFIT, ids=str)
def test_a_text_that_is_no_value_of_the_type_is_a_fault(
    sql: str, texts: list[str], reason: str
) -> None:
    found, faults = column([*texts], sql)

    assert [faults[row].reason.value for row in range(len(texts))] == [reason] * len(texts)
    assert found.null_count == len(texts)
    message = faults[0].message
    assert message.startswith("field c: found ")
    assert message.endswith(" for column c")
    with pytest.raises(ValueFault):
        text_value(texts[0], parse_type(sql))


@pytest.mark.parametrize(
    ("sql", "good", "bad"),
    [
        ("DATE", "2024-02-29", "2026-02-29"),
        ("TIME", "03:04", "24:04"),
        ("TIMESTAMP(3)", "2026-04-30T03:04:05Z", "2026-04-31T03:04:05Z"),
        ("TIMESTAMP(9)", "2026-04-30 03:04", "1900-02-29 03:04"),
        ("TINYINT", "-128", "128"),
        ("BIGINT", "-8999999999999999999", "9223372036854775808"),
        ("DOUBLE", "1e300", "1e400"),
        ("DECIMAL(3, 1)", "12.3", "123.4"),
    ],
)
def test_texts_without_a_value_cost_no_step_more(sql: str, good: str, bad: str) -> None:
    def steps(text: str) -> int:
        calls = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            found = plain_values(pa.array([good, text] * 50), parse_type(sql))
        finally:
            sys.setprofile(None)
        assert found.null_count == (0 if text == good else 50)
        return calls

    steps(good)  # what is remembered from the first time

    assert steps(bad) == steps(good)


@pytest.mark.parametrize(("sql", "texts", "_reason"), UNFIT, ids=str)
def test_the_fast_way_reads_no_text_that_the_exact_way_refuses(
    sql: str, texts: list[str], _reason: str
) -> None:
    array: Any = pa.array(texts)

    assert plain_values(array, parse_type(sql)).null_count == len(texts)
