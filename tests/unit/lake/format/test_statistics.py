import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import decode_row
from braid.lake.format.data_types import DataField
from braid.lake.format.statistics import EMPTY_STATS, collect_statistics, round_up_text
from braid.lake.format.type_codec import parse_type

NAN = math.nan


def _bounds(text: str, values: Sequence[object], truncate: int | None = 16) -> tuple[object, ...]:
    field = DataField(name="c", type=parse_type(text))
    table = pa.table({"c": pa.array(values, to_arrow_type(field.type))})
    stats = collect_statistics(table, [field], truncate=truncate)
    (least,) = decode_row(stats.min_values, [field])
    (greatest,) = decode_row(stats.max_values, [field])
    return least, greatest, stats.null_counts[0]


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("INT", [3, None, -1], (-1, 3, 1)),
        ("BOOLEAN", [True, False], (False, True, 0)),
        (
            "DECIMAL(30, 2)",
            [Decimal("1.50"), Decimal("-7.50")],
            (Decimal("-7.50"), Decimal("1.50"), 0),
        ),
        ("STRING", ["b", "é", "a", None], ("a", "é", 1)),
        ("DOUBLE", [1.5, None], (1.5, 1.5, 1)),
        ("TIMESTAMP(6)", [datetime(2024, 1, 2)], (datetime(2024, 1, 2),) * 2 + (0,)),  # noqa: DTZ001
        ("INT", [None, None], (None, None, 2)),
        ("INT", [], (None, None, 0)),
        ("BYTES", [b"a", None], (None, None, 1)),
        ("TIMESTAMP(9)", [1, None], (None, None, 1)),
        ("ARRAY<INT>", [[1], None, None], (None, None, 2)),
    ],
    ids=str,
)
def test_bounds_and_nulls_of_a_column(
    text: str, values: Sequence[object], expected: tuple[object, ...]
) -> None:
    assert _bounds(text, values) == expected


def test_text_is_ordered_by_its_bytes_not_by_its_utf16_units() -> None:
    # In UTF-16 a surrogate pair sorts before U+FFFF.
    assert _bounds("STRING", ["\uffff", "\U0001f600"])[:2] == ("\uffff", "\U0001f600")


def test_long_text_is_cut_and_its_upper_bound_rounded_up() -> None:
    bounds = _bounds("STRING", ["a long string key"])

    assert bounds == ("a long string ke", "a long string kf", 0)


def test_keys_are_not_cut() -> None:
    assert _bounds("STRING", ["a long string key"], truncate=None)[:2] == ("a long string key",) * 2


def test_text_that_cannot_be_rounded_up_has_no_bounds() -> None:
    assert _bounds("STRING", ["\U0010ffff" * 17, "a"]) == (None, None, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab", "ab"),
        ("abc", "ac"),
        ("a\U0010ffffc", "b"),
        ("a\ud7ffc", "a\ue000"),
        ("日本語", "日札"),
        ("\U0010ffff" * 3, None),
    ],
    ids=["fits", "last raised", "last cannot rise", "over the surrogates", "characters", "none"],
)
def test_rounding_up_keeps_a_short_text_above(text: str, expected: str | None) -> None:
    assert round_up_text(text, 2) == expected


@pytest.mark.parametrize("text", ["FLOAT", "DOUBLE"])
def test_floats_are_ordered_as_java_orders_them(text: str) -> None:
    least, greatest, nulls = _bounds(text, [0.0, -0.0, None])
    assert isinstance(least, float)
    assert isinstance(greatest, float)
    assert (math.copysign(1, least), math.copysign(1, greatest), nulls) == (-1, 1, 1)

    least, greatest, _ = _bounds(text, [-NAN, 1.0, -math.inf])
    assert least == -math.inf
    assert isinstance(greatest, float)
    assert math.isnan(greatest)


def test_columns_are_covered_in_the_order_of_the_fields() -> None:
    fields = [
        DataField(name="b", type=parse_type("STRING")),
        DataField(name="a", type=parse_type("INT")),
    ]
    table = pa.table({"a": pa.array([1, 2], pa.int32()), "x": [0, 0], "b": ["u", None]})

    stats = collect_statistics(table, fields, truncate=16)

    assert decode_row(stats.max_values, fields) == ("u", 2)
    assert stats.null_counts == (1, 0)


def test_no_columns_have_empty_statistics() -> None:
    assert collect_statistics(pa.table({"a": [1]}), [], truncate=None) == EMPTY_STATS


def test_chunks_count_together() -> None:
    field = DataField(name="c", type=parse_type("BIGINT"))
    table = pa.table({"c": pa.chunked_array([[5, None], [], [-5]])})

    stats = collect_statistics(table, [field], truncate=16)

    assert decode_row(stats.min_values, [field]) == (-5,)
    assert stats.null_counts == (1,)


def test_a_dictionary_column_is_read_through() -> None:
    field = DataField(name="c", type=parse_type("STRING"))
    table = pa.table({"c": pa.array(["b", "a"]).dictionary_encode()})

    assert decode_row(collect_statistics(table, [field], truncate=16).min_values, [field]) == ("a",)


def test_a_column_of_another_type_is_refused() -> None:
    field = DataField(name="c", type=parse_type("INT"))

    with pytest.raises(SchemaMismatch, match="does not fit"):
        collect_statistics(pa.table({"c": ["x"]}), [field], truncate=16)
