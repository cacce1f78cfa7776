import pyarrow as pa
import pytest

from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.functions.support.value_equality import identity
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_values import (
    added,
    arrow_type,
    folded,
    given_function,
    given_reduction,
    problems_of,
)

INTS = arrow_type("ARRAY<INT>")
TEXTS = arrow_type("ARRAY<STRING>")
ROWS = pa.list_(pa.struct([("id", pa.int32()), ("name", pa.string())]))
ARRAYS = arrow_type("ARRAY<ARRAY<INT>>")
MAPS = arrow_type("ARRAY<MAP<INT, STRING>>")
BYTES = arrow_type("ARRAY<BYTES>")
NAN = float("nan")


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        pytest.param(INTS, [None, None], None, id="F75 nulls"),
        pytest.param(INTS, [None, [1, 1, 2]], [1, 1, 2], id="F75 first"),
        pytest.param(INTS, [[1, 1, 2], [2, 3]], [1, 1, 2, 2, 3], id="F75"),
        pytest.param(TEXTS, [["A", "B", "B"], ["A", None]], ["A", "B", "B", "A", None], id="A40"),
        pytest.param(INTS, [[], None], [], id="empty"),
    ],
)
def test_elements_are_put_together(
    kind: pa.DataType, values: list[object], expected: object
) -> None:
    assert added(given_function("collect", kind), *values) == expected


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        pytest.param(INTS, [None, None], None, id="F70 nulls"),
        pytest.param(INTS, [None, [1, 1, 2]], [1, 2], id="F70 first"),
        pytest.param(INTS, [[1, 1, 2], [2, 3]], [1, 2, 3], id="F70"),
        pytest.param(INTS, [[1, None], [None, 1]], [1, None], id="null equals null"),
        pytest.param(BYTES, [[b"12"], [b"12", b"34"]], [b"12", b"34"], id="F71"),
        pytest.param(
            ROWS,
            [[(1, "A"), (1, "B")], [(1, "A"), (2, "A")]],
            [(1, "A"), (1, "B"), (2, "A")],
            id="F72",
        ),
        pytest.param(
            ARRAYS, [[[1, 1], [1, 2]], [[1, 1], [2, 1]]], [[1, 1], [1, 2], [2, 1]], id="F73"
        ),
        pytest.param(
            MAPS,
            [[[(1, "A")], [(1, "A"), (2, "B")]], [[(2, "B"), (1, "A")], [(1, "C")]]],
            [[(1, "A")], [(1, "A"), (2, "B")], [(1, "C")]],
            id="F74",
        ),
    ],
)
def test_elements_are_distinct(kind: pa.DataType, values: list[object], expected: object) -> None:
    assert added(given_function("collect", kind, distinct="true"), *values) == expected


def test_floats_are_equal_as_in_java() -> None:
    kind = arrow_type("ARRAY<DOUBLE>")
    function = given_function("collect", kind, distinct="true")

    found = added(function, [0.0, NAN], [-0.0, NAN, 0.0])

    assert identity(kind)(found) == identity(kind)([0.0, NAN, -0.0])


@pytest.mark.parametrize(("kind", "kept"), [(INTS, [1]), (ROWS, [(1, "A"), (1, "A")])])
def test_duplicates_in_the_accumulated_list_are_removed_for_simple_types_only(
    kind: pa.DataType, kept: object
) -> None:
    element = 1 if kind == INTS else (1, "A")
    function = given_function("collect", kind, distinct="true")

    assert function.aggregate([element, element], [element]) == kept


@pytest.mark.parametrize(
    ("kind", "accumulated", "value", "expected"),
    [
        pytest.param(INTS, [1, 2, 3], [1], [2, 3], id="F76"),
        pytest.param(INTS, [1, 1, 2, 2, 3], [1, 2, 3], [1, 2], id="F76 one of each"),
        pytest.param(INTS, [3, 1, 2, 1], [1], [3, 2, 1], id="the earliest"),
        pytest.param(
            ROWS,
            [(1, "A"), (1, "A"), (1, "B"), (2, "B")],
            [(1, "A"), (2, "B")],
            [(1, "A"), (1, "B")],
            id="F76 rows",
        ),
        pytest.param(
            ARRAYS,
            [[1, 1], [1, 1], [1, 2], [2, 1]],
            [[1, 1], [1, 2]],
            [[1, 1], [2, 1]],
            id="F76 arrays",
        ),
        pytest.param(MAPS, [[(1, "A"), (2, "B")]], [[(2, "B"), (1, "A")]], [], id="F76 maps"),
        pytest.param(BYTES, [b"12", b"34"], [b"12"], [b"34"], id="F71"),
        pytest.param(INTS, [None, 1], [None], [1], id="null equals null"),
        pytest.param(INTS, [], [], [], id="F92"),
        pytest.param(INTS, None, [1], None, id="nothing accumulated"),
        pytest.param(INTS, [1], None, [1], id="null takes nothing"),
        pytest.param(INTS, [1], [7], [1], id="not there"),
        pytest.param(INTS, [1], [1, 1], [], id="empty, not null"),
    ],
)
def test_retract_removes_one_occurrence_of_each(
    kind: pa.DataType, accumulated: object, value: object, expected: object
) -> None:
    assert given_function("collect", kind).retract(accumulated, value) == expected


def test_a_late_array_is_not_put_in_front() -> None:
    function = given_function("collect", INTS)

    assert folded(function, [(Step.ADD, [2]), (Step.LATE, [1])]) == [2, 1]


def test_with_ignore_retract_a_late_array_is_put_in_front() -> None:
    function = given_function("collect", INTS, ignore_retract="true")

    assert folded(function, [(Step.ADD, [2]), (Step.LATE, [1])]) == [1, 2]


def test_repeats_in_a_single_value_go_through_the_definition() -> None:
    reduction = given_reduction("collect", INTS, distinct="true")

    assert reduction is not None
    assert not reduction.keeps_single


def test_only_arrays_are_accepted() -> None:
    accepts = FUNCTIONS["collect"].accepts

    assert accepts(parse_type("ARRAY<INT>"))
    assert not accepts(parse_type("MAP<INT, INT>"))
    assert not accepts(parse_type("MULTISET<INT>"))


def test_distinct_is_true_or_false() -> None:
    (problem,) = problems_of("collect", "ARRAY<INT>", distinct="1")

    assert "fields.v.distinct" in problem
