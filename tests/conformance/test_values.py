"""The codec of the conformance format, against values written down by hand."""

from typing import Any

import pyarrow as pa
import pytest

from tests.conformance.column_types import TypeJson, arrow_type
from tests.conformance.values import canonical, to_arrow, to_json

EXAMPLES: list[tuple[TypeJson, list[Any]]] = [
    ("BOOLEAN", [True, False, None]),
    ("BIGINT NOT NULL", [9_007_199_254_740_993, -(2**63)]),
    ("FLOAT", [0.1, -0.0, "NaN", "Infinity", None]),
    ("DOUBLE", [0.1, -0.0, "-Infinity"]),
    ("DECIMAL(10, 2)", ["12.50", "-0.75", "0.00"]),
    ("CHAR(2)", ["ab", "", None]),
    ("BYTES", ["", "/wA="]),
    ("DATE", ["1969-12-31", "2024-01-02"]),
    ("TIME(3)", ["23:59:59.999", "00:00:00.000"]),
    ("TIMESTAMP(3)", ["1969-12-31T23:59:59.999000"]),
    ("TIMESTAMP(9)", ["2024-01-02T03:04:05.123456789", "2024-01-02T03:04:05.123456"]),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", ["2024-01-02T03:04:05.123456Z", None]),
    ({"type": "ARRAY", "element": "INT"}, [[1, None], [], None]),
    ({"type": "MAP", "key": "STRING", "value": "INT"}, [[["a", 1], ["b", None]], None, []]),
    ({"type": "MULTISET", "element": "INT"}, [[[1, 2], [3, 1]]]),
    ({"type": "ROW", "fields": [{"name": "a", "type": "TIMESTAMP(9)"}]}, [[None], None]),
]


@pytest.mark.parametrize(("type_json", "values"), EXAMPLES, ids=lambda value: str(value)[:40])
def test_values_survive_the_way_to_arrow_and_back(type_json: TypeJson, values: list[Any]) -> None:
    array = to_arrow(values, arrow_type(type_json))

    assert str(to_json(array)) == str(values)  # as text, because -0.0 == 0.0
    assert str(to_json(array.slice(1))) == str(values[1:])


@pytest.mark.parametrize(
    ("type_json", "value", "complaint"),
    [
        ("BIGINT", 1.5, "expected int, found 1.5"),
        ("INT", True, "expected int, found True"),
        ("STRING", 1, "expected str, found 1"),
        ("DECIMAL(10, 2)", "0.001", "more digits than scale 2"),
        ("TIMESTAMP(3)", "2024-01-02T03:04:05.123456", "does not fit the unit ms"),
        ("TIMESTAMP(3)", "2024-01-02T03:04:05.123Z", "is not a value of timestamp"),
        ("BYTES", "no base64!", "base64"),
    ],
)
def test_a_value_of_another_form_is_refused(type_json: str, value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        to_arrow([value], arrow_type(type_json))


def test_canonical_form_makes_equal_values_equal() -> None:
    assert canonical([1, 1.0], pa.float64()) == [1.0, 1.0]
    assert canonical([[[2, "b"], [1, "a"]]], pa.map_(pa.int32(), pa.string())) == [
        [[1, "a"], [2, "b"]]
    ]


def test_canonical_decimal_may_exceed_its_precision() -> None:
    assert canonical(["199.98"], pa.decimal128(4, 2)) == ["199.98"]
