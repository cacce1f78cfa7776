"""Placeholders of Debezium count as missing fields, whatever the type of the column."""

import base64
import json
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.change_capture.unavailable_values import UnavailableValues

TEXT = "__debezium_unavailable_value"
ENCODED = base64.b64encode(TEXT.encode()).decode()


def without(row: Any, *, text: str = TEXT) -> Any:
    written = row if isinstance(row, bytes) else json.dumps(row, separators=(",", ":")).encode()
    (found,) = UnavailableValues(text).without(pa.array([written], pa.binary())).to_pylist()
    return found


@pytest.mark.parametrize(
    "value",
    [TEXT, ENCODED, [TEXT], [ENCODED], list(TEXT.encode()), {TEXT: TEXT}],
    ids=["text", "bytes", "texts", "arrays of bytes", "integers", "hstore"],
)
def test_a_placeholder_is_taken_out_of_the_row(value: Any) -> None:
    assert json.loads(without({"id": 7, "large": value, "z": 1})) == {"id": 7, "z": 1}


@pytest.mark.parametrize(
    "value",
    [f"{TEXT}!", [TEXT, TEXT], [TEXT, "a"], {"inside": TEXT}, {TEXT: "a"}, [95, 95], None, 95.95],
)
def test_any_other_value_stays_as_it_is_written(value: Any) -> None:
    row = json.dumps({"id": 7, "large": value}).encode()

    assert without(row) == row


def test_values_beside_a_placeholder_stay_as_they_are_written() -> None:
    row = b'{"n": 1.10, "large": "%s", "name": "\\u00e4", "\\u00fc": [ 1 ]}' % TEXT.encode()

    assert without(row) == '{"n":1.10,"name":"\\u00e4","ü":[ 1 ]}'.encode()


def test_a_row_that_only_the_exact_reader_understands_loses_its_placeholder() -> None:
    assert without(b'{"x": NaN, "large": "%s"}' % TEXT.encode()) == b'{"x":"NaN"}'


@pytest.mark.parametrize("row", [b'["%s"]', b'{"a": "%s"', b'"%s"', b"[" * 5_000 + b'"%s"'])
def test_what_is_no_object_is_left_to_the_reader_of_rows(row: bytes) -> None:
    assert without(row % TEXT.encode()) == row % TEXT.encode()


def test_the_placeholder_can_be_another_one() -> None:
    assert (
        without({"a": 'ä"', "b": TEXT}, text='ä"')
        == json.dumps({"a": 'ä"', "b": TEXT}, separators=(",", ":")).encode()
    )
    assert without('{"a":"ä\\"","b":1}'.encode(), text='ä"') == b'{"b":1}'


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([TEXT, "a", None]), [True, False, False]),
        (pa.array([TEXT.encode(), b"a", None]), [True, False, False]),
        (pa.array([[TEXT], [TEXT, "a"], None, []]), [True, False, False, False]),
        (pa.array([list(TEXT.encode()), [1]], pa.list_(pa.int32())), [True, False]),
        (
            pa.array([[(TEXT, TEXT)], [("a", TEXT)]], pa.map_(pa.string(), pa.string())),
            [True, False],
        ),
    ],
)
def test_values_of_columns_are_compared(values: pa.Array, expected: list[bool]) -> None:
    found = UnavailableValues(TEXT).are_in(values)

    assert found is not None
    assert found.to_pylist() == expected


def test_other_columns_have_no_placeholder() -> None:
    assert UnavailableValues(TEXT).are_in(pa.array([1])) is None
