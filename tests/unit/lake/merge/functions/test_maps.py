import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.functions.support.value_equality import identity
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_values import (
    added,
    arrow_type,
    folded,
    given_function,
    problems_of,
)

MAP = arrow_type("MAP<INT, STRING>")
BY_BYTES = arrow_type("MAP<BYTES, STRING>")
ROW = {
    "type": "ROW",
    "fields": [{"name": "v", "type": "STRING"}, {"name": "ts", "type": "STRING"}],
}
TIMED_TYPE: dict[str, object] = {"type": "MAP", "key": "STRING", "value": ROW}
TIMED = arrow_type(TIMED_TYPE)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([None, None], None, id="F80 nulls"),
        pytest.param(
            [[(1, "A")], [(1, "A"), (2, "B")], [(1, "a"), (3, "c")]],
            [(1, "a"), (2, "B"), (3, "c")],
            id="F80",
        ),
        pytest.param([[(1, "A")], [(1, None)]], [(1, None)], id="a null value is a value"),
        pytest.param([None, [(1, "A"), (1, "B")]], [(1, "A"), (1, "B")], id="kept as it is"),
        pytest.param([[], None], [], id="empty"),
    ],
)
def test_the_newest_value_of_a_key_stays(values: list[object], expected: object) -> None:
    assert added(given_function("merge_map", MAP), *values) == expected


def test_of_a_late_map_only_new_keys_count() -> None:
    function = given_function("merge_map", MAP)

    found = folded(function, [(Step.ADD, [(1, "A")]), (Step.LATE, [(1, "old"), (2, "B")])])

    assert identity(MAP)(found) == identity(MAP)([(1, "A"), (2, "B")])


@pytest.mark.parametrize(
    ("accumulated", "value", "expected"),
    [
        pytest.param([(1, "A"), (2, "B"), (3, "C")], [(1, "A"), (2, "A")], [(3, "C")], id="F80"),
        pytest.param([], [], [], id="F92"),
        pytest.param(None, [(1, "A")], None, id="nothing accumulated"),
        pytest.param([(1, "A")], None, [(1, "A")], id="null"),
        pytest.param([(1, "A")], [(1, "A")], [], id="empty, not null"),
    ],
)
def test_retract_removes_keys(accumulated: object, value: object, expected: object) -> None:
    assert given_function("merge_map", MAP).retract(accumulated, value) == expected


def test_bytes_are_keys_by_content() -> None:
    function = given_function("merge_map", BY_BYTES)

    assert added(function, [(b"12", "A")], [(b"12", "B")]) == [(b"12", "B")]
    assert function.retract([(b"12", "A")], [(b"12", "B")]) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            [
                [("k1", ("A", "100")), ("k2", ("B", "100"))],
                [("k1", ("A1", "200")), ("k3", ("C", "200"))],
                [("k2", ("B2", "050"))],
            ],
            [("k1", ("A1", "200")), ("k2", ("B", "100")), ("k3", ("C", "200"))],
            id="F82",
        ),
        pytest.param([[("k", ("A", "100"))], [("k", ("A0", "050"))], [("k", None)]], [], id="F83"),
        pytest.param(
            [[("k", ("A", "10"))], [("k", ("B", "9"))]], [("k", ("B", "9"))], id="times are text"
        ),
        pytest.param(
            [[("k", ("A", "1"))], [("k", ("B", "1"))]], [("k", ("A", "1"))], id="equal times"
        ),
        pytest.param(
            [[("k", ("A", "\U0001f600"))], [("k", ("B", "\uffff"))]],
            [("k", ("B", "\uffff"))],
            id="by UTF-16 units",
        ),
        pytest.param(
            [[("k", None), ("m", ("M", None))], [("k", ("B", "0")), ("m", ("N", "0"))]],
            [("k", ("B", "0")), ("m", ("N", "0"))],
            id="nothing there is older",
        ),
        pytest.param(
            [[("k", ("A", "1"))], [("k", ("B", None))]], [("k", ("A", "1"))], id="without a time"
        ),
        pytest.param([None, [("k", None)]], [("k", None)], id="the first is kept as it is"),
        pytest.param([[("k", ("A", "1"))], None], [("k", ("A", "1"))], id="null"),
    ],
)
def test_the_greatest_time_of_a_key_stays(values: list[object], expected: object) -> None:
    function = given_function("merge_map_with_keytime", TIMED)

    assert added(function, *values) == expected


def test_the_time_may_be_another_field() -> None:
    function = given_function("merge_map_with_keytime", TIMED, ts_field="v")

    found = added(function, [("k", ("2", "a"))], [("k", ("1", "b"))])

    assert found == [("k", ("2", "a"))]


def test_an_unknown_time_field_in_a_table_of_another_engine_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match=r"the ROW has no such field \(found `at`\)"):
        given_function("merge_map_with_keytime", TIMED, ts_field="at")


def test_a_late_map_is_the_one_that_is_put_under() -> None:
    function = given_function("merge_map_with_keytime", TIMED)

    found = folded(function, [(Step.ADD, [("k", ("A", "1"))]), (Step.LATE, [("k", ("B", "1"))])])

    assert found == [("k", ("B", "1"))]


def test_times_have_no_retract() -> None:
    with pytest.raises(SchemaMismatch, match=r"`merge_map_with_keytime` .*has no retract"):
        given_function("merge_map_with_keytime", TIMED).retract([], [])


def test_a_time_that_is_no_text_is_refused() -> None:
    kind = pa.map_(pa.string(), pa.struct([("v", pa.string()), ("ts", pa.int32())]))
    function = given_function("merge_map_with_keytime", kind)

    with pytest.raises(SchemaMismatch, match="a time that is not text"):
        added(function, [("k", ("A", 1))], [("k", ("B", 2))])


def test_types_are_checked() -> None:
    timed = FUNCTIONS["merge_map_with_keytime"].accepts

    assert FUNCTIONS["merge_map"].accepts(parse_type("MAP<INT, INT>"))
    assert not FUNCTIONS["merge_map"].accepts(parse_type("ARRAY<INT>"))
    assert not FUNCTIONS["merge_map"].accepts(parse_type("MULTISET<INT>"))
    assert timed(parse_type(TIMED_TYPE))
    assert not timed(parse_type("MAP<INT, STRING>"))
    one = {"type": "ROW", "fields": [{"name": "ts", "type": "STRING"}]}
    assert not timed(parse_type({"type": "MAP", "key": "INT", "value": one}))


def test_the_time_is_a_field_of_the_row() -> None:
    assert problems_of("merge_map_with_keytime", TIMED_TYPE) == []
    assert problems_of("merge_map_with_keytime", TIMED_TYPE, ts_field="time") == [
        "fields.v.ts-field: the ROW has no such field (found `time`)\nhint: fields: v, ts"
    ]


def test_the_time_is_a_text() -> None:
    row = {"type": "ROW", "fields": [{"name": "a", "type": "INT"}, {"name": "ts", "type": "INT"}]}

    (problem,) = problems_of("merge_map_with_keytime", {"type": "MAP", "key": "INT", "value": row})

    assert "compared as text" in problem
    assert "found `ts INT`" in problem
