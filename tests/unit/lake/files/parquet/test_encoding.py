"""Encodings are chosen by a sample of the column."""

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.files.parquet.encoding import choose_encodings


def random_values(
    distinct: int, *, rows: int = 50_000
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return seeded random integers below `distinct`."""
    return np.random.default_rng(1).integers(0, distinct, rows)


@pytest.mark.parametrize(
    ("distinct", "has_dictionary"), [(1, True), (100, True), (5_000, True), (2**40, False)]
)
def test_text_has_a_dictionary_when_it_repeats(distinct: int, *, has_dictionary: bool) -> None:
    table = pa.table({"s": random_values(distinct).astype(str)})

    encodings = choose_encodings(table)

    assert encodings.dictionary == (["s"] if has_dictionary else [])
    assert encodings.explicit == {}


def test_integers_that_do_not_repeat_are_packed_as_differences() -> None:
    table = pa.table(
        {
            "i": random_values(2**40),
            "t": pa.array(random_values(2**40)).cast(pa.timestamp("ms")),
            "f": random_values(2**40).astype(np.float64),
            "b": pa.array(random_values(2) == 0),
        }
    )

    encodings = choose_encodings(table)

    assert encodings.dictionary == []
    assert encodings.explicit == {"i": "DELTA_BINARY_PACKED", "t": "DELTA_BINARY_PACKED"}


def test_decimals_count_as_integers_up_to_18_digits() -> None:
    values = pa.array(random_values(2**40))
    table = pa.table(
        {
            "p18": values.cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 0)),
            "p38": values.cast(pa.decimal128(38, 0)),
        }
    )

    assert choose_encodings(table).explicit == {"p18": "DELTA_BINARY_PACKED"}


def test_leaves_of_nested_columns_have_a_dictionary() -> None:
    table = pa.table(
        {
            "l": pa.array([[1]]),
            "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
            "r": pa.array([{"x": 1, "y": [1]}]),
        }
    )

    assert choose_encodings(table).dictionary == [
        "l.list.element",
        "m.key_value.key",
        "m.key_value.value",
        "r.x",
        "r.y.list.element",
    ]


def test_short_columns_are_judged_whole() -> None:
    repeated = pa.table({"s": ["a", "b"] * 100})
    different = pa.table({"s": [str(i) for i in range(200)]})

    assert choose_encodings(repeated).dictionary == ["s"]
    assert choose_encodings(different).dictionary == []


def test_columns_of_nulls_have_a_dictionary() -> None:
    assert choose_encodings(pa.table({"s": pa.nulls(5, pa.string())})).dictionary == ["s"]
