"""Columns that an aggregate function accepts, with values and options that make it work.

Written from the specification (merge-semantics 4), not from the functions: where the two disagree
a generated table is refused, and the test fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.property.domains import (
    ALL,
    ATOMIC,
    BOOLEANS,
    DECIMALS,
    FLOATS,
    INTEGERS,
    Domain,
    array,
    mapping,
    row,
)

_SMALL_INTEGERS: tuple[Domain, ...] = tuple(
    (kind, [-2, -1, 0, 1, 3]) for kind in ("TINYINT", "SMALLINT", "INT", "BIGINT")
)
_SMALL_DECIMALS: tuple[Domain, ...] = (
    ("DECIMAL(10, 0)", ["-3", "0", "1", "2"]),
    ("DECIMAL(9, 2)", ["-1.25", "0.00", "0.01", "2.50"]),
    ("DECIMAL(18, 4)", ["-1.2500", "0.0001", "3.0000"]),
    ("DECIMAL(38, 10)", ["-1.2500000000", "0.0000000001", "7.0000000000"]),
)
# A sum of three of these has more digits than the type, or more bits.
_WIDE_DECIMALS: tuple[Domain, ...] = (
    ("DECIMAL(18, 0)", ["-999999999999999999", "1", "999999999999999999"]),
    ("DECIMAL(38, 0)", ["9" * 38, "-" + "9" * 38, "1"]),
    ("DECIMAL(20, 2)", ["999999999999999999.99", "0.01", "-0.05"]),
)
_TRUE_FLOATS: tuple[Domain, ...] = (
    ("FLOAT", [0.1, 0.2, -0.3, 16777216.0, 1.0]),
    ("DOUBLE", [0.1, 0.2, -0.3, 1e16, 1.0]),
)
_EXACT = (*_SMALL_INTEGERS, *_SMALL_DECIMALS)
_NUMERIC = (*_EXACT, *_WIDE_DECIMALS, *_TRUE_FLOATS, *FLOATS, *INTEGERS, *DECIMALS)
# Forty of these multiply without overflow.
_WHOLE: tuple[Domain, ...] = (
    ("TINYINT", [-1, 0, 1]),
    ("INT", [-1, 1]),
    ("BIGINT", [-2, -1, 1, 2]),
    ("DECIMAL(38, 0)", ["-1", "1", "2"]),
)
_COMPARABLE = tuple(domain for domain in ATOMIC if domain not in BOOLEANS)

_WORDS: Domain = ("STRING", ["", " ", "a", "b", "a,b", "b,,a", "c;a", "\t", "\u3000", "\u00a0"])
_LISTS: tuple[Domain, ...] = (
    (array("INT"), [[], [1], [1, 1, 2], [2, None], [None, None]]),
    (array("STRING"), [[], ["a"], ["b", "a"], ["a", None, "a"]]),
    (array("DOUBLE"), [[], [0.0, -0.0], ["NaN", 1.5], ["NaN"]]),
    (array(row({"x": "INT", "y": "STRING"})), [[], [[1, "a"], [1, "a"]], [[1, None], None]]),
    (array(array("INT")), [[], [[1], [1, 2]], [[1], None]]),
    (array(mapping("STRING", "INT")), [[], [[["a", 1]], [["a", 1], ["b", 2]]], [[["a", 1]]]]),
    (array("BYTES"), [[], ["AA==", "AQ=="], ["AA=="]]),
)
_MAPS: tuple[Domain, ...] = (
    (mapping("STRING", "INT"), [[], [["a", 1]], [["a", 2], ["b", None]], [["b", 3], ["c", 4]]]),
    (mapping("INT", "STRING"), [[], [[1, "x"]], [[1, None], [2, "y"]]]),
    (mapping("DATE", array("INT")), [[], [["1970-01-01", [1]]], [["1970-01-01", None]]]),
)
_TIMED: tuple[Domain, ...] = (
    (
        mapping("STRING", row({"v": "STRING", "ts": "STRING"})),
        [
            [],
            [["x", ["a", "100"]]],
            [["x", ["b", "099"]], ["y", [None, "150"]]],
            [["x", None]],
            [["y", ["c", None]], ["x", ["c", "100"]]],
        ],
    ),
)
_ROWS = row({"id": "INT", "part": "STRING", "n": "INT", "s": "BIGINT"})
_NESTED_ROWS: Domain = (
    array(_ROWS),
    [
        [],
        [[1, "a", 10, 1]],
        [[1, "a", 11, 0], [2, "b", None, 2]],
        [[2, "b", 12, None], [3, "a", 1, 1]],
        [[None, "a", 13, 3], [1, None, None, 2]],
        [None, [1, "a", 10, 1], [1, "a", 14, 5]],
    ],
)
_BITMAPS_32 = [
    "OjAAAAEAAAAAAAAAEAAAAAQA",
    "OjAAAAEAAAAAAAAAEAAAAAIA",
    "OzAAAAEAAAMAAQABAAMA",
    "OjAAAAEAAAAAAAMAEAAAAAIABgAHAAgA",
]
_BITMAPS_64 = [
    "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIBAAAAAwABAAAAAAAAAAAAAAAAAAAA",
    "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIBAAAAAgABAAAAAAAAAAAAAAAAAAAA",
    "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQICAAAAAQAFAAEAAAAAAAAAAAAAAAAAAAA=",
    "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIEAAAAAgAFAAYACAABAAAAAAAAAAAAAAAAAAAA",
]
_HLL = ["AgEHDAMIAQCGL/kN", "AgEHDAMIAQD8LUIK", "AgEHDAMIAgCGL/kN0hZzBw==", "AgEHDAMIAQB1gWYH"]
_THETA = [
    "AQMDAAA6zJPg9IvqmYPDfA==",
    "AQMDAAA6zJO9MnNyRpHMFA==",
    "AgMDAAAazJMCAAAAAACAP70yc3JGkcwU4PSL6pmDw3w=",
    "AQMDAAA6zJO6QLPB2gZpXQ==",
]

_KEYED: tuple[dict[str, str], ...] = (
    {"nested-key": "id"},
    {"nested-key": "id, part"},
    {"nested-key": "id", "nested-key-null-strategy": "ignore"},
    {"nested-key": "id", "nested-key-null-strategy": "error"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionColumn:
    """Columns with one aggregate function.

    Attributes:
        name: The function, as options spell it.
        domains: Types that it accepts, with values.
        options: Choices of further `fields.<column>.<suffix>` options.
        retracts: Whether it takes retracts without `ignore-retract`.
        exact: Types and values for which any order of the records gives the same; none if the order
            matters.
        is_idempotent: A value that comes again changes nothing, whatever came in between.
        has_unordered_elements: The order of the array's elements is left open by the reference.
    """

    name: str
    domains: Sequence[Domain]
    options: Sequence[Mapping[str, str]] = ({},)
    retracts: bool = False
    exact: Sequence[Domain] = field(default=())
    has_unordered_elements: bool = False
    is_idempotent: bool = False


FUNCTION_COLUMNS: tuple[FunctionColumn, ...] = (
    FunctionColumn(name="sum", domains=_NUMERIC, retracts=True, exact=_EXACT),
    FunctionColumn(name="product", domains=_NUMERIC, retracts=True, exact=_WHOLE),
    FunctionColumn(name="max", domains=_COMPARABLE, exact=_COMPARABLE, is_idempotent=True),
    FunctionColumn(name="min", domains=_COMPARABLE, exact=_COMPARABLE, is_idempotent=True),
    FunctionColumn(name="last_value", domains=ALL, retracts=True),
    FunctionColumn(name="last_non_null_value", domains=ALL, retracts=True),
    FunctionColumn(name="first_value", domains=ALL),
    FunctionColumn(name="first_non_null_value", domains=ALL),
    FunctionColumn(name="first_not_null_value", domains=ALL),
    FunctionColumn(
        name="listagg",
        domains=(_WORDS,),
        options=(
            {},
            {"list-agg-delimiter": ";"},
            {"distinct": "true"},
            {"distinct": "true", "list-agg-delimiter": ""},
            {"list-agg-delimiter": ", "},
        ),
    ),
    FunctionColumn(name="bool_and", domains=BOOLEANS, exact=BOOLEANS, is_idempotent=True),
    FunctionColumn(name="bool_or", domains=BOOLEANS, exact=BOOLEANS, is_idempotent=True),
    FunctionColumn(
        name="collect",
        domains=_LISTS,
        options=({}, {"distinct": "true"}),
        retracts=True,
        has_unordered_elements=True,
    ),
    FunctionColumn(name="merge_map", domains=_MAPS, retracts=True),
    FunctionColumn(name="merge_map_with_keytime", domains=_TIMED, options=({}, {"ts-field": "v"})),
    FunctionColumn(
        name="nested_update",
        domains=(_NESTED_ROWS,),
        options=(
            {},
            {"count-limit": "2"},
            *_KEYED,
            {"nested-key": "id", "nested-sequence-field": "s"},
            {"nested-key": "id", "nested-sequence-field": "s,n", "count-limit": "2"},
        ),
        retracts=True,
        has_unordered_elements=True,
    ),
    FunctionColumn(
        name="nested_partial_update",
        domains=(_NESTED_ROWS,),
        options=_KEYED,
        has_unordered_elements=True,
    ),
    FunctionColumn(
        name="rbm32",
        domains=(("BYTES", _BITMAPS_32),),
        exact=(("BYTES", _BITMAPS_32),),
        is_idempotent=True,
    ),
    FunctionColumn(
        name="rbm64",
        domains=(("BYTES", _BITMAPS_64),),
        exact=(("BYTES", _BITMAPS_64),),
        is_idempotent=True,
    ),
    FunctionColumn(
        name="hll_sketch", domains=(("BYTES", _HLL),), exact=(("BYTES", _HLL),), is_idempotent=True
    ),
    FunctionColumn(
        name="theta_sketch",
        domains=(("BYTES", _THETA),),
        exact=(("BYTES", _THETA),),
        is_idempotent=True,
    ),
)
"""Every aggregate function of the format."""

BY_NAME: dict[str, FunctionColumn] = {function.name: function for function in FUNCTION_COLUMNS}

_WRAP = {"braid.on-overflow": "wrap"}
WRAPPING: tuple[FunctionColumn, ...] = (
    FunctionColumn(name="sum", domains=(*INTEGERS, *_WIDE_DECIMALS), options=(_WRAP,)),
    FunctionColumn(name="product", domains=(*INTEGERS, *_WIDE_DECIMALS[:2]), options=(_WRAP,)),
)
"""Functions with values that their types do not hold, by an option that other engines ignore."""
ORDER_FREE: tuple[FunctionColumn, ...] = (
    *(replace(function, domains=function.exact) for function in FUNCTION_COLUMNS if function.exact),
    *WRAPPING,
)
"""The functions that do not mind the order of the records, on types and values without rounding."""

IDEMPOTENT: tuple[FunctionColumn, ...] = tuple(
    function for function in ORDER_FREE if function.is_idempotent
)
"""Those of them that do not mind a record that comes twice."""
