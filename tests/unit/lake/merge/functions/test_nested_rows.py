from collections.abc import Iterable

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_values import (
    added,
    arrow_type,
    folded,
    given_function,
    problems_of,
)


def array_of_rows(**fields: str) -> dict[str, object]:
    parts = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "ARRAY", "element": {"type": "ROW", "fields": parts}}


PLAIN_TYPE = array_of_rows(k0="INT", k1="INT", v="STRING")
PLAIN = arrow_type(PLAIN_TYPE)
TIMED = arrow_type(array_of_rows(k0="INT", k1="INT", v="STRING", seq="INT"))
TWICE_TIMED = arrow_type(array_of_rows(k0="INT", k1="INT", v="STRING", seq="INT", ts="INT"))
PARTIAL = arrow_type(array_of_rows(k="INT", v1="INT", v2="STRING"))
KEY = {"nested_key": "k0, k1"}
SEQ = {**KEY, "nested_sequence_field": "seq"}


def rows(found: object) -> set[object]:
    """The order of rows has no meaning."""
    assert isinstance(found, list)
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        pytest.param(
            KEY,
            [[(0, 0, "A")], [(0, 1, "B")], [(0, 1, "b")]],
            [(0, 0, "A"), (0, 1, "b")],
            id="F40",
        ),
        pytest.param({}, [[(0, 1, "B")], [(0, 1, "b")]], [(0, 1, "B"), (0, 1, "b")], id="F41"),
        pytest.param(
            {"count_limit": "2"},
            [[(0, 1, "B")], [(0, 1, "b")], [(0, 1, "C")]],
            [(0, 1, "B"), (0, 1, "b")],
            id="F42",
        ),
        pytest.param(
            {"count_limit": "2"},
            [[(0, 1, "B"), None, (0, 1, "b"), (0, 1, "C")]],
            [(0, 1, "B"), (0, 1, "b")],
            id="F43",
        ),
        pytest.param(
            {**KEY, "count_limit": "2"},
            [[(0, 1, "B")], [(1, 2, "C")], [(0, 1, "b")], [(2, 3, "D")]],
            [(0, 1, "b"), (1, 2, "C")],
            id="F44",
        ),
        pytest.param(
            {**KEY, "count_limit": "2"},
            [[(0, 1, "B"), (1, 2, "C"), (2, 3, "D"), (0, 1, "b")]],
            [(0, 1, "b"), (1, 2, "C")],
            id="F45",
        ),
        pytest.param(
            KEY,
            [[(0, 0, "A")], [(0, 1, "B")], [(0, None, "C"), (None, None, "D")]],
            [(0, 0, "A"), (0, 1, "B"), (0, None, "C"), (None, None, "D")],
            id="F52",
        ),
        pytest.param(
            KEY, [[(0, None, "C")], [(0, None, "D")]], [(0, None, "D")], id="null equals null"
        ),
        pytest.param(
            {**KEY, "nested_key_null_strategy": "ignore"}, [[(0, None, "C")]], [], id="F53 first"
        ),
        pytest.param(
            {**KEY, "nested_key_null_strategy": "IGNORE"},
            [[(0, 0, "A")], [(0, 1, "B")], [(0, None, "C")], [(None, None, "D")]],
            [(0, 0, "A"), (0, 1, "B")],
            id="F53",
        ),
        pytest.param({}, [[None]], [], id="null elements are dropped"),
        pytest.param(KEY, [[(0, 0, "A")], None], [(0, 0, "A")], id="null adds nothing"),
        pytest.param({"count_limit": "0"}, [[(0, 0, "A")]], [], id="limit of none"),
        pytest.param({"count_limit": "-1"}, [[(0, 0, "A")]], [], id="limit below none"),
    ],
)
def test_rows_are_updated(
    options: dict[str, str], values: list[object], expected: Iterable[object]
) -> None:
    assert rows(added(given_function("nested_update", PLAIN, **options), *values)) == set(expected)


@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        pytest.param(
            SEQ, [[(0, 1, "A", 1)], [(0, 1, "B", 2)], [(0, 1, "x", 1)]], [(0, 1, "B", 2)], id="F47"
        ),
        pytest.param(
            SEQ,
            [[(0, 0, "A", 1)], [(0, 1, "B", 2)], [(0, 1, "b", 3)], [(0, 1, "late", 2)]],
            [(0, 0, "A", 1), (0, 1, "b", 3)],
            id="F48",
        ),
        pytest.param(
            SEQ, [[(0, 1, "A", 1)], [(0, 1, "B", 1)]], [(0, 1, "B", 1)], id="equal replaces"
        ),
        pytest.param(
            SEQ, [[(0, 1, "A", 1)], [(0, 1, "B", None)]], [(0, 1, "A", 1)], id="null is smallest"
        ),
        pytest.param(
            {**SEQ, "count_limit": "2"},
            [
                [(0, 1, "A", 1)],
                [(0, 2, "B", 2)],
                [(0, 3, "C", 3)],
                [(0, 1, "A'", 4)],
                [(0, 2, "late", 1)],
            ],
            [(0, 1, "A'", 4), (0, 2, "B", 2)],
            id="F50",
        ),
        pytest.param(
            {**SEQ, "count_limit": "2"},
            [[(0, 1, "B", 1), (1, 2, "C", 3), (2, 3, "D", 5), (0, 1, "B'", 4)]],
            [(0, 1, "B'", 4), (1, 2, "C", 3)],
            id="F51",
        ),
        pytest.param(
            {**SEQ, "count_limit": "3"},
            [
                [(0, 1, "B", 1)],
                [(None, 2, "N2", 2)],
                [(None, None, "NN", 3)],
                [(1, 2, "C", 5)],
                [(0, 1, "B'", 4)],
            ],
            [(0, 1, "B'", 4), (None, 2, "N2", 2), (None, None, "NN", 3)],
            id="F55",
        ),
        pytest.param(
            {**SEQ, "count_limit": "3", "nested_key_null_strategy": "ignore"},
            [
                [(0, 1, "B", 1)],
                [(None, 2, "N2", 2)],
                [(None, None, "NN", 3)],
                [(1, 2, "C", 5)],
                [(0, 1, "B'", 4)],
                [(2, 3, "D", 5)],
            ],
            [(0, 1, "B'", 4), (1, 2, "C", 5), (2, 3, "D", 5)],
            id="F56",
        ),
    ],
)
def test_the_sequence_of_a_row_decides(
    options: dict[str, str], values: list[object], expected: Iterable[object]
) -> None:
    assert rows(added(given_function("nested_update", TIMED, **options), *values)) == set(expected)


def test_several_sequence_fields_compare_in_turn() -> None:
    """F49."""
    options = {**KEY, "nested_sequence_field": "seq,ts"}
    function = given_function("nested_update", TWICE_TIMED, **options)
    found = added(
        function,
        [(1, 0, "A", 1, 2)],
        [(0, 1, "B", 2, 1)],
        [(1, 1, "C", 1, 2)],
        [(1, 0, "late", 1, 1)],
        [(1, 0, "A'", 1, 3)],
        [(0, 1, "x", 1, 3)],
        [(0, 1, "B'", 2, 2)],
        [(0, 1, "B''", 3, 1)],
    )
    assert rows(found) == {(1, 0, "A'", 1, 3), (0, 1, "B''", 3, 1), (1, 1, "C", 1, 2)}

    left = function.retract(found, [(0, 1, "B''", 3, 1)])

    assert rows(left) == {(1, 0, "A'", 1, 3), (1, 1, "C", 1, 2)}


@pytest.mark.parametrize(
    ("options", "accumulated", "value", "expected"),
    [
        pytest.param(
            KEY, [(0, 0, "A"), (0, 1, "b")], [(0, 1, "other")], [(0, 0, "A")], id="F40 by key"
        ),
        pytest.param({}, [(0, 1, "B"), (0, 1, "b")], [(0, 1, "b")], [(0, 1, "B")], id="F41"),
        pytest.param({}, [(0, 1, "b"), (0, 1, "b")], [(0, 1, "b"), None], [], id="every equal row"),
        pytest.param(
            {**KEY, "nested_key_null_strategy": "ignore"},
            [(0, None, "A"), (1, 0, "B"), (1, 1, "C")],
            [(1, 0, "B")],
            [(1, 1, "C")],
            id="F58 ignore",
        ),
        pytest.param(
            {**KEY, "nested_key_null_strategy": "ignore"},
            [(0, 0, "A"), (1, 1, "B")],
            [(0, None, "X")],
            [(0, 0, "A"), (1, 1, "B")],
            id="F59 ignore",
        ),
        pytest.param(KEY, [(0, 0, "A")], None, [(0, 0, "A")], id="null"),
        pytest.param(KEY, None, [(0, 0, "A")], None, id="nothing accumulated"),
        pytest.param({}, [], [], [], id="F92"),
    ],
)
def test_retract_removes_rows(
    options: dict[str, str], accumulated: object, value: object, expected: object
) -> None:
    function = given_function("nested_update", PLAIN, **options)

    assert function.retract(accumulated, value) == expected


@pytest.mark.parametrize("name", ["nested_update", "nested_partial_update"])
def test_a_null_key_can_be_an_error(name: str) -> None:
    """F54, F57, F58, F59, F61."""
    function = given_function(name, PLAIN, **KEY, nested_key_null_strategy="error")

    with pytest.raises(SchemaMismatch, match="nested key holds a null"):
        function.aggregate(None, [(0, None, "C")])
    with pytest.raises(SchemaMismatch, match="nested-key-null-strategy` to merge or ignore"):
        function.aggregate([(0, 0, "A")], [(None, None, "D")])


@pytest.mark.parametrize(
    ("accumulated", "value"),
    [([(0, None, "A")], [(1, 0, "B")]), ([(0, 0, "A")], [(0, None, "X")])],
    ids=["F58", "F59"],
)
def test_a_null_key_can_be_an_error_in_retracts(accumulated: object, value: object) -> None:
    function = given_function("nested_update", PLAIN, **KEY, nested_key_null_strategy="error")

    with pytest.raises(SchemaMismatch, match="nested key holds a null"):
        function.retract(accumulated, value)


def test_late_rows_go_under_those_that_are_there() -> None:
    function = given_function("nested_update", PLAIN, **KEY)

    found = folded(
        function, [(Step.ADD, [(0, 0, "new")]), (Step.LATE, [(0, 0, "old"), (1, 1, "more")])]
    )

    assert rows(found) == {(0, 0, "new"), (1, 1, "more")}


@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        pytest.param({}, [[(0, 0, None)], [(0, None, "A")]], [(0, 0, "A")], id="F60"),
        pytest.param(
            {},
            [[(0, 0, "A")], [(0, 1, "B")], [(1, 2, "C")], [(None, 0, "D")]],
            [(0, 1, "B"), (1, 2, "C"), (None, 0, "D")],
            id="F60 null key",
        ),
        pytest.param({}, [[(0, 0, None), None, (0, None, "A")]], [(0, 0, "A")], id="first folded"),
        pytest.param(
            {"nested_key_null_strategy": "ignore"}, [[(None, 0, "A")]], [], id="F61 ignore"
        ),
        pytest.param({}, [[(0, 0, "A")], None], [(0, 0, "A")], id="null"),
    ],
)
def test_rows_are_updated_field_by_field(
    options: dict[str, str], values: list[object], expected: Iterable[object]
) -> None:
    function = given_function("nested_partial_update", PARTIAL, nested_key="k", **options)

    assert rows(added(function, *values)) == set(expected)


def test_late_fields_fill_what_is_empty() -> None:
    function = given_function("nested_partial_update", PARTIAL, nested_key="k")

    found = folded(function, [(Step.ADD, [(0, 1, None)]), (Step.LATE, [(0, 2, "old")])])

    assert found == [(0, 1, "old")]


def test_partial_rows_have_no_retract() -> None:
    function = given_function("nested_partial_update", PARTIAL, nested_key="k")

    with pytest.raises(SchemaMismatch, match=r"`nested_partial_update` .*has no retract"):
        function.retract([], [])


def test_zero_and_minus_zero_are_two_keys_and_nan_is_one() -> None:
    kind = pa.list_(pa.struct([("k", pa.float64()), ("v", pa.int32())]))
    function = given_function("nested_update", kind, nested_key="k")
    nan = float("nan")

    found = added(function, [(0.0, 1), (nan, 1)], [(-0.0, 2), (nan, 2)])

    assert isinstance(found, list)
    assert [value for _, value in found] == [1, 2, 2]


@pytest.mark.parametrize(
    ("name", "options", "key"),
    [
        ("nested_update", {"nested_key": "k0,id"}, "nested-key"),
        (
            "nested_update",
            {"nested_key": "k0", "nested_sequence_field": "id"},
            "nested-sequence-field",
        ),
        ("nested_partial_update", {"nested_key": "id"}, "nested-key"),
    ],
)
def test_an_unknown_field_in_a_table_of_another_engine_is_refused(
    name: str, options: dict[str, str], key: str
) -> None:
    message = rf"`{name}` .*`fields\.v\.{key}`, but the ROW has no such field \(found `id`\)"
    with pytest.raises(SchemaMismatch, match=message):
        given_function(name, PLAIN, **options)


@pytest.mark.parametrize("name", ["nested_update", "nested_partial_update"])
def test_only_arrays_of_rows_are_accepted(name: str) -> None:
    accepts = FUNCTIONS[name].accepts

    assert accepts(parse_type(PLAIN_TYPE))
    assert not accepts(parse_type("ARRAY<INT>"))
    assert not accepts(parse_type("INT"))


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        pytest.param("nested_update", {}, None, id="none"),
        pytest.param("nested_update", {"nested_key": "k0 , k1"}, None, id="trimmed"),
        pytest.param(
            "nested_update",
            {"nested_sequence_field": "v"},
            "fields.v.nested-sequence-field: without a nested key",
            id="F46 sequence",
        ),
        pytest.param(
            "nested_update",
            {"nested_key_null_strategy": "ignore"},
            "fields.v.nested-key-null-strategy: without a nested key",
            id="F46 strategy",
        ),
        pytest.param(
            "nested_update",
            {"nested_key": "k0,id"},
            "fields.v.nested-key: the ROW has no such field (found `id`)\nhint: fields: k0, k1, v",
            id="unknown key",
        ),
        pytest.param(
            "nested_update",
            {"nested_key": "k0,k0"},
            "fields.v.nested-key: the field is named more than once",
            id="repeated key",
        ),
        pytest.param(
            "nested_update",
            {"nested_key": "k0", "nested_sequence_field": "ts"},
            "fields.v.nested-sequence-field: the ROW has no such field",
            id="unknown sequence",
        ),
        pytest.param(
            "nested_update",
            {"nested_key": "k0", "nested_key_null_strategy": "drop"},
            "hint: one of merge, ignore, error",
            id="strategy",
        ),
        pytest.param(
            "nested_update",
            {"count_limit": "many"},
            "fields.v.count-limit: expected a whole number from 1 to 2147483647",
            id="limit",
        ),
        pytest.param(
            "nested_partial_update",
            {},
            "fields.v.nested-key: `nested_partial_update` needs a nested key",
            id="F60 no key",
        ),
        pytest.param("nested_partial_update", {"nested_key": "k0"}, None, id="key"),
    ],
)
def test_options_are_checked(name: str, options: dict[str, str], expected: str | None) -> None:
    problems = problems_of(name, PLAIN_TYPE, **options)

    if expected is None:
        assert problems == []
    else:
        assert len(problems) == 1
        assert expected in problems[0]
