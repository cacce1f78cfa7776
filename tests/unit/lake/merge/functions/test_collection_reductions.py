"""Functions of collections with two executions: both give the same results."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.merge.functions.support.value_equality import identity
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_values import (
    Happenings,
    arrow_type,
    folded,
    given_function,
    given_reduction,
    reduced,
)

TEXTS = st.text(alphabet="ab,\u00a0\u3000\u2007\u1680\t é", max_size=4)
FLOATS = st.sampled_from([0.0, -0.0, float("nan"), 1.5])
INTS = st.integers(0, 3)


def lists(elements: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(st.none() | elements, max_size=4)


def maps(keys: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(st.tuples(keys, st.none() | INTS), max_size=4)


def as_type(text: str) -> pa.DataType:
    return arrow_type(text)


CASES: dict[str, tuple[str, dict[str, str], pa.DataType, st.SearchStrategy[object]]] = {
    "listagg": ("listagg", {}, pa.string(), TEXTS),
    "listagg-wide": ("listagg", {"list_agg_delimiter": "::"}, pa.string(), TEXTS),
    "listagg-nothing": ("listagg", {"list_agg_delimiter": ""}, pa.string(), TEXTS),
    "listagg-distinct": ("listagg", {"distinct": "true"}, pa.string(), TEXTS),
    "collect-int": ("collect", {}, as_type("ARRAY<INT>"), lists(INTS)),
    "collect-int-ignoring": (
        "collect",
        {"ignore_retract": "true"},
        as_type("ARRAY<INT>"),
        lists(INTS),
    ),
    "distinct-int-ignoring": (
        "collect",
        {"ignore_retract": "true", "distinct": "true"},
        as_type("ARRAY<INT>"),
        lists(INTS),
    ),
    "distinct-bytes-ignoring": (
        "collect",
        {"ignore_retract": "true", "distinct": "true"},
        as_type("ARRAY<BYTES>"),
        lists(st.sampled_from([b"", b"a", b"ab"])),
    ),
    "collect-text": ("collect", {}, as_type("ARRAY<STRING>"), lists(TEXTS)),
    "collect-list": ("collect", {}, as_type("ARRAY<ARRAY<INT>>"), lists(lists(INTS))),
    "distinct-int": ("collect", {"distinct": "true"}, as_type("ARRAY<INT>"), lists(INTS)),
    "distinct-text": ("collect", {"distinct": "true"}, as_type("ARRAY<STRING>"), lists(TEXTS)),
    "distinct-float": ("collect", {"distinct": "true"}, as_type("ARRAY<FLOAT>"), lists(FLOATS)),
    "distinct-double": ("collect", {"distinct": "true"}, as_type("ARRAY<DOUBLE>"), lists(FLOATS)),
    "distinct-decimal": (
        "collect",
        {"distinct": "true"},
        as_type("ARRAY<DECIMAL(20, 2)>"),
        lists(st.decimals(0, 2, places=2)),
    ),
    "distinct-date": ("collect", {"distinct": "true"}, as_type("ARRAY<DATE>"), lists(INTS)),
    "distinct-boolean": (
        "collect",
        {"distinct": "true"},
        as_type("ARRAY<BOOLEAN>"),
        lists(st.booleans()),
    ),
    "distinct-bytes": (
        "collect",
        {"distinct": "true"},
        as_type("ARRAY<BYTES>"),
        lists(st.sampled_from([b"", b"a", b"ab"])),
    ),
    "distinct-list": (
        "collect",
        {"distinct": "true"},
        as_type("ARRAY<ARRAY<DOUBLE>>"),
        lists(lists(FLOATS)),
    ),
    "nested_update": (
        "nested_update",
        {},
        pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])),
        lists(st.tuples(st.none() | INTS, st.none() | TEXTS)),
    ),
    "merge_map-int": ("merge_map", {}, as_type("MAP<INT, INT>"), maps(INTS)),
    "merge_map-text": ("merge_map", {}, as_type("MAP<STRING, INT>"), maps(TEXTS)),
    "merge_map-double": ("merge_map", {}, as_type("MAP<DOUBLE, INT>"), maps(FLOATS)),
    "merge_map-list": ("merge_map", {}, as_type("MAP<ARRAY<INT>, INT>"), maps(lists(INTS))),
}


def happenings(
    values: st.SearchStrategy[object], handled: frozenset[Step]
) -> st.SearchStrategy[Happenings]:
    """A segment: perhaps a seed, then other steps that the reduction takes."""
    value = st.none() | values
    others = st.tuples(st.sampled_from(sorted(handled - {Step.SEED})), value)
    first = st.tuples(st.sampled_from(sorted(handled)), value)
    return st.builds(lambda one, more: [one, *more], first, st.lists(others, max_size=4))


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_reduction_gives_the_answers_of_the_definition(case: str, data: st.DataObject) -> None:
    name, options, kind, values = CASES[case]
    reduction = given_reduction(name, kind, **options)
    assert reduction is not None
    segments = data.draw(st.lists(happenings(values, reduction.handles), min_size=1, max_size=6))

    found, undecided = reduced(reduction, kind, segments)

    function = given_function(name, kind, **options)
    same: Callable[[object], object] = identity(kind)
    for index, segment in enumerate(segments):
        if index not in undecided:
            assert same(found[index]) == same(folded(function, segment)), segment
    assert undecided == sorted(set(undecided))


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_single_value_is_unchanged_if_the_reduction_keeps_it(
    case: str, data: st.DataObject
) -> None:
    name, options, kind, values = CASES[case]
    reduction = given_reduction(name, kind, **options)
    assert reduction is not None
    value = data.draw(st.none() | values)

    if reduction.keeps_single:
        found, undecided = reduced(reduction, kind, [[(Step.ADD, value)]])
        assert undecided == []
        assert identity(kind)(found[0]) == identity(kind)(value)


DECIDED = [case for case in CASES if case.startswith(("collect", "distinct", "merge_map"))]


def test_rows_that_are_only_ever_appended_are_decided() -> None:
    name, options, kind, _ = CASES["nested_update"]
    reduction = given_reduction(name, kind, **options)
    assert reduction is not None
    segments: list[Happenings] = [
        [(Step.ADD, [(1, "a"), None]), (Step.ADD, [(1, "a")])],
        [(Step.ADD, None)],
    ]

    assert reduced(reduction, kind, segments) == ([[(1, "a"), (1, "a")], None], [])
    limited = given_reduction(name, kind, **options, count_limit="2")
    assert limited is not None
    assert reduced(limited, kind, segments)[1] == [0]


@pytest.mark.parametrize(
    "case",
    sorted({*DECIDED, "listagg"} - {"distinct-list", "merge_map-list", "distinct-bytes-ignoring"}),
)
def test_every_segment_of_adds_and_late_values_is_decided(case: str) -> None:
    name, options, kind, _ = CASES[case]
    reduction = given_reduction(name, kind, **options)
    assert reduction is not None
    value = "text" if name == "listagg" else []

    _, undecided = reduced(reduction, kind, [[(Step.ADD, value), (Step.LATE, value)]])

    assert undecided == []
