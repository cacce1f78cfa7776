"""Ranges of keys: the parts of a range, and the rows in the order of keys."""

import itertools
import math
import random
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    InvalidRequest,
    KeyRange,
    ManualClock,
    MemoryFileIO,
    SchemaMismatch,
    Table,
)
from braid.lake.read.key_range import text_after

MOMENT = datetime(2026, 1, 31, 5, 15, tzinfo=UTC)
VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [False, True],
    "TINYINT": [-128, 0, 127],
    "BIGINT": [-(1 << 63), -1, 0, (1 << 63) - 1],
    "FLOAT": [-math.inf, -1.5, -0.0, 0.0, 0.25, math.inf, math.nan],
    "DOUBLE": [-math.inf, -1.5, -0.0, 0.0, 0.1, math.inf, math.nan],
    "DECIMAL(5, 2)": [Decimal("-1.50"), Decimal("0.00"), Decimal("1.05")],
    "DECIMAL(38, 2)": [Decimal("-12345678901234567890.50"), Decimal("0.00"), Decimal("1.05")],
    "STRING": ["", "A", "AA", "Z", "a", "ä", "\ue000", "\U0010ffff"],
    "BYTES": [b"", b"\x00", b"\x7f", b"\x80", b"\xff\x00"],
    "DATE": [date(1, 1, 1), date(1969, 12, 31), date(2026, 1, 31)],
    "TIME(3)": [time(0), time(5, 15), time(23, 59, 59, 999_000)],
    "TIMESTAMP(3)": [datetime.fromisoformat(day) for day in ("1969-12-31", "2026-01-31")],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [MOMENT, MOMENT.replace(year=2027)],
}


def given_table(kind: str, values: list[Any], **options: Any) -> Table:
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    table = catalog.create_table(
        "db.t",
        columns=[("a", "INT"), ("k", kind), ("v", "INT")],
        primary_key=["a", "k"],
        **{"options": {"bucket": "2"}, **options},
    )
    for number in (0, 1):
        keys = list(itertools.product((1, 2), values))[:: number + 1]
        random.Random(number).shuffle(keys)
        columns = zip(*keys, strict=True)
        types = table.schema.arrow_schema.types
        arrays = [pa.array(column, types[index]) for index, column in enumerate(columns)]
        arrays.append(pa.array([number] * len(keys), types[2]))
        table.write_and_commit(pa.table(arrays, names=["a", "k", "v"]))
    return table


def keys_of(table: Table, keys: KeyRange, *, batch_rows: int = 2) -> list[tuple[Any, Any]]:
    scan = table.scan(columns=["k", "a"], batch_rows=batch_rows)
    return [
        (row["a"], shown(row["k"])) for part in scan.in_key_order(keys) for row in part.to_pylist()
    ]


def shown(value: Any) -> Any:
    """A value that compares by its bits: NaN equals itself, and the zeros are two."""
    return repr(value) if isinstance(value, float) else value


@pytest.mark.parametrize("kind", VALUES)
def test_keys_of_each_type_are_ordered_and_bounded(kind: str) -> None:
    values = VALUES[kind]
    table = given_table(kind, values)
    every = [(a, shown(value)) for a in (1, 2) for value in values]

    assert keys_of(table, KeyRange()) == every
    for number, (a, value) in enumerate(itertools.product((1, 2), values)):
        key = {"a": a, "k": value}
        assert keys_of(table, KeyRange(first=key)) == every[number:]
        assert keys_of(table, KeyRange(after=key)) == every[number + 1 :]
        assert keys_of(table, KeyRange(before=key)) == every[:number]
        assert keys_of(table, KeyRange(prefix=key)) == [every[number]]


def test_all_bounds_hold_together() -> None:
    texts = ["a", "ab", "abc", "abd", "b"]
    table = given_table("STRING", texts)
    choices: list[dict[str, object]] = [{}, {"a": 1}]
    choices += [{"a": a, "k": text} for a in (1, 2) for text in ("ab", "abd")]

    for first, before, after in itertools.product(choices, choices, choices):
        if after and len(after) < 2:
            continue
        found = keys_of(table, KeyRange(prefix={"a": 1}, first=first, before=before, after=after))
        assert found == [
            (1, text)
            for text in texts
            if (1, text) >= tuple(first.values())
            and (not before or (1, text) < tuple(before.values()))
            and (1, text) > tuple(after.values())
        ]


@pytest.mark.parametrize("prefix", ["", "a", "ab", "abe", "\U0010ffff"])
def test_texts_begin_with_a_text(prefix: str) -> None:
    texts = ["a", "ab", "abc", "abd", "b", "\U0010ffff", "\U0010ffffx"]
    table = given_table("STRING", texts)

    found = keys_of(table, KeyRange(prefix={"a": 2}, starts_with=prefix))

    assert found == [(2, text) for text in texts if text.startswith(prefix)]


def test_no_text_lies_between_a_prefix_and_the_text_after_it() -> None:
    assert text_after("\ud7ff") == "\ue000"
    assert text_after("a\U0010ffff\U0010ffff") == "b"


@pytest.mark.parametrize("partition", [["a"], ["k"]])
def test_partitions_are_in_the_order_of_the_key(partition: list[str]) -> None:
    table = given_table("INT", [-7, 3, 20], partition_keys=partition)

    assert keys_of(table, KeyRange()) == [(a, k) for a in (1, 2) for k in (-7, 3, 20)]


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        (KeyRange(prefix={"k": "x"}), "prefix"),
        (KeyRange(first={"v": 1}), "first"),
        (KeyRange(starts_with="x"), "starts_with"),
        (KeyRange(prefix={"a": 1, "k": "x"}, starts_with="x"), "starts_with"),
        (KeyRange(before={"a": "x"}), "a"),
    ],
)
def test_a_range_that_does_not_fit_the_key_is_refused(keys: KeyRange, field: str) -> None:
    table = given_table("STRING", ["x"])

    with pytest.raises(InvalidRequest) as refused:
        keys_of(table, keys)

    assert [problem.field for problem in refused.value.problems] == [field]


def test_rows_without_their_key_have_no_order() -> None:
    table = given_table("STRING", ["x"])

    with pytest.raises((InvalidRequest, SchemaMismatch), match=r"kind"):
        list(table.scan(columns=["a"]).in_key_order())


def test_only_files_of_the_range_are_opened() -> None:
    table = given_table("INT", list(range(100)), options={"bucket": "1"})
    table.compact(full=True)
    for number in range(3):
        keys = {"a": pa.array([5], pa.int32()), "k": pa.array([number], pa.int32())}
        table.write_and_commit(pa.table({**keys, "v": pa.array([1], pa.int32())}))
    scan = table.scan(batch_rows=10)

    found = [part.num_rows for part in scan.in_key_order(KeyRange(first={"a": 5, "k": 1}))]

    assert sum(found) == 2
    assert scan.counters.files == 2
