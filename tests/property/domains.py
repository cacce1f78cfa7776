"""A few values of every column type, in the JSON of the conformance format.

Few, so that records meet, tie and repeat in almost every example, and the awkward ones among them:
extremes, signed zeros, not-a-number, texts that share a prefix, empty and nested collections.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.column_types import TypeJson
from tests.conformance.values import Json

Domain = tuple[TypeJson, Sequence[Json]]
"""A column type and the values that a generated column of it holds, null aside."""


def array(element: TypeJson) -> dict[str, Any]:
    """Return the type of an array."""
    return {"type": "ARRAY", "element": element}


def mapping(key: TypeJson, value: TypeJson) -> dict[str, Any]:
    """Return the type of a map."""
    return {"type": "MAP", "key": key, "value": value}


def row(fields: Mapping[str, TypeJson]) -> dict[str, Any]:
    """Return the type of a row."""
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "ROW", "fields": named}


INTEGERS: tuple[Domain, ...] = (
    ("TINYINT", [-128, -1, 0, 127]),
    ("SMALLINT", [-(2**15), -1, 0, 2**15 - 1]),
    ("INT", [-(2**31), -1, 0, 1, 2**31 - 1]),
    ("BIGINT", [-(2**63), -1, 0, 1, 2, 2**63 - 1]),
)
FLOATS: tuple[Domain, ...] = (
    ("FLOAT", ["-Infinity", -0.0, 0.0, 1.5, "NaN"]),
    ("DOUBLE", [-1e300, -0.0, 0.0, 1e-300, "Infinity", "NaN"]),
)
DECIMALS: tuple[Domain, ...] = (
    ("DECIMAL(10, 2)", ["-1.25", "0.00", "0.01", "99999999.99"]),
    ("DECIMAL(38, 0)", [str(n) for n in (-(10**37), -1, 0, 2**64, 2**64 + 1)]),
)
TEXTS: tuple[Domain, ...] = (
    (
        "STRING",
        ["", "a", "a\0", "ab", "abcdefgh", "abcdefghi", "zz", "é", "\uffff", "\U0001f600"],
    ),
    ("VARCHAR(4)", ["", "a", "ab", "é"]),
    ("CHAR(2)", ["aa", "ab", "zz"]),
)
BYTES: tuple[Domain, ...] = (
    ("BYTES", ["", "AA==", "AAA=", "fw==", "/w==", "YWFhYWFhYWFhYQ=="]),
    ("BINARY(2)", ["AAA=", "AP8=", "//8="]),
)
TIMES: tuple[Domain, ...] = (
    ("DATE", ["1969-12-31", "1970-01-01", "2024-02-29"]),
    ("TIME(3)", ["00:00:00.000", "12:34:56.789", "23:59:59.999"]),
    ("TIMESTAMP(3)", ["1969-12-31T23:59:59.999000", "2024-01-01T00:00:00.001000"]),
    ("TIMESTAMP(6)", ["1969-12-31T23:59:59.999999", "2024-01-01T00:00:00.000001"]),
    (
        "TIMESTAMP(9)",
        [
            "1969-12-31T23:59:59.999999999",
            "2024-01-01T00:00:00.000000001",
            "2024-01-01T00:00:00.000000002",
        ],
    ),
    (
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        ["1969-12-31T23:59:59.999000Z", "2024-01-01T00:00:00.001000Z"],
    ),
    (
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        ["1969-12-31T23:59:59.999999Z", "2024-01-01T00:00:00.000001Z"],
    ),
)
BOOLEANS: tuple[Domain, ...] = (("BOOLEAN", [False, True]),)
ATOMIC: tuple[Domain, ...] = (
    *BOOLEANS,
    *INTEGERS,
    *FLOATS,
    *DECIMALS,
    *TEXTS,
    *BYTES,
    *TIMES,
)
NESTED: tuple[Domain, ...] = (
    (array("INT"), [[], [1], [1, None]]),
    (array(array("STRING")), [[], [[]], [["a", None], None]]),
    (mapping("STRING", "BIGINT"), [[], [["a", 1]], [["a", None], ["b", 2]]]),
    (mapping("INT", row({"x": "DATE"})), [[], [[1, ["1970-01-01"]]], [[1, None], [2, [None]]]]),
    (row({"x": "INT", "y": "STRING"}), [[1, None], [None, ""], [None, None]]),
    (
        row({"x": row({"y": "DECIMAL(10, 2)"}), "z": array("BOOLEAN")}),
        [[["0.01"], []], [None, [None, True]]],
    ),
    (array(row({"z": "TIMESTAMP(6)"})), [[], [["1969-12-31T23:59:59.999999"], None]]),
    ({"type": "MULTISET", "element": "STRING"}, [[], [["a", 2]], [["a", 1], ["b", 3]]]),
)
ORDERED_NESTED: tuple[Domain, ...] = (
    (array("INT"), [[], [None], [1], [1, None], [1, 0], [2]]),
    (row({"x": "INT", "y": "STRING"}), [[None, None], [None, "b"], [1, None], [1, "a"]]),
)
"""Nested types that may order records."""

ALL: tuple[Domain, ...] = (*ATOMIC, *NESTED)
ORDERED: tuple[Domain, ...] = (*ATOMIC, *ORDERED_NESTED)

# Types that are counted up without end: ordering values that never tie.
DISTINCT_ORDER: tuple[Domain, ...] = (
    ("INT", range(-50, 1_000)),
    ("BIGINT", range(2**40, 2**40 + 1_000)),
    ("STRING", [f"{number:04}" for number in range(1_000)]),
    ("DECIMAL(10, 2)", [f"{number}.25" for number in range(1_000)]),
    ("DOUBLE", [number + 0.5 for number in range(1_000)]),
    (
        "TIMESTAMP(6)",
        [f"2024-01-01T00:00:{number // 100:02}.{number % 100:06}" for number in range(1_000)],
    ),
)


def without(domain: Domain, *values: Json) -> Domain:
    """Return the domain without some of its values."""
    kind, all_values = domain
    # -0.0 equals 0.0, and True equals 1, but their texts differ.
    unwanted = {repr(value) for value in values}
    return kind, [value for value in all_values if repr(value) not in unwanted]
