import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_values import (
    added,
    folded,
    given_function,
    given_reduction,
    problems_of,
    reduced,
)

NO_BREAK_SPACE = "\u00a0"
BLANKS = ["", "   ", "\t", "\n", "\r", "\r\n", " \t\n", "\x0b\x0c\x1c\x1f", "\u3000", "\u2000"]


@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        pytest.param({}, ["user1", "user2"], "user1,user2", id="F20"),
        pytest.param({"list_agg_delimiter": "-"}, ["user1", "user2"], "user1-user2", id="F21"),
        pytest.param({}, ["first line", None, "second line"], "first line,second line", id="A32"),
        pytest.param({}, [None, None], None, id="A32 nulls"),
        pytest.param({}, ["user1", *BLANKS, "user2"], "user1,user2", id="F31"),
        pytest.param({}, [None, " ", "first line"], "first line", id="F32"),
        pytest.param({}, [""], None, id="blank alone"),
        pytest.param(
            {}, ["a", NO_BREAK_SPACE, "\u2007", "\u202f"], "a,\u00a0,\u2007,\u202f", id="no-break"
        ),
        pytest.param({"list_agg_delimiter": ""}, ["a", "b"], "ab", id="no delimiter"),
    ],
)
def test_texts_are_joined(
    options: dict[str, str], values: list[object], expected: str | None
) -> None:
    function = given_function("listagg", pa.string(), **options)
    reduction = given_reduction("listagg", pa.string(), **options)
    assert reduction is not None

    assert added(function, *values) == expected
    happenings = [(Step.ADD, value) for value in values]
    assert reduced(reduction, pa.string(), [happenings]) == ([expected], [])


@pytest.mark.parametrize(
    ("delimiter", "values", "expected"),
    [
        pytest.param(",", ["user1", "user2", "user1", "user3"], "user1,user2,user3", id="F22"),
        pytest.param(",", ["user1", "user2", "user1,user3"], "user1,user2,user3", id="F23"),
        pytest.param(",", ["", "user2", "user1,user3"], "user2,user1,user3", id="F24"),
        pytest.param(";", ["", ""], None, id="F25 in a table"),
        pytest.param(";", ["k1=v1;k2=v2", "k1=v1;k3=v3", ""], "k1=v1;k2=v2;k3=v3", id="F26"),
        pytest.param(" ", ["k1=v1 k2=v2", " k1=v1  k3=v3", " "], "k1=v1 k2=v2 k3=v3", id="F27"),
        pytest.param(",", ["k1=v1,k2=v2", "k1=v1,k2=v3", ""], "k1=v1,k2=v2,k2=v3", id="F28"),
        pytest.param(",", ["abc,def,asd", "ab,xy"], "abc,def,asd,ab,xy", id="F29"),
        pytest.param(";", ["abc;def;asd", "ab;xy;def"], "abc;def;asd;ab;xy", id="F29 ;"),
        pytest.param(
            ",", ["user1", *BLANKS, "user2", "user1", "user3"], "user1,user2,user3", id="F31"
        ),
        pytest.param(",", ["a,a,b", "b,b,c,c"], "a,a,b,c", id="the first text stays"),
        pytest.param("", ["a b", "b c"], "a bc", id="no delimiter: divided at blanks"),
    ],
)
def test_tokens_are_distinct(delimiter: str, values: list[object], expected: str | None) -> None:
    function = given_function("listagg", pa.string(), list_agg_delimiter=delimiter, distinct="true")

    assert added(function, *values) == expected


@pytest.mark.parametrize("delimiter", [",", "aa", "", "a"])
def test_tokens_of_what_was_joined_are_those_of_the_text(delimiter: str) -> None:
    values = ["xa", "b", "a", "xaaab", "b,x", "x b", "ab", "b", "a,a"]
    function = given_function("listagg", pa.string(), distinct="true", list_agg_delimiter=delimiter)
    accumulated: object = None

    for value in values:
        afresh = given_function(
            "listagg", pa.string(), distinct="true", list_agg_delimiter=delimiter
        )
        expected = afresh.aggregate(accumulated, value)
        accumulated = function.aggregate(accumulated, value)
        assert accumulated == expected


def test_the_tokens_of_one_key_are_not_those_of_the_next() -> None:
    function = given_function("listagg", pa.string(), distinct="true")
    # One object: its identity decides whether its tokens are cached.
    text = "a"
    made = function.aggregate(text, "b")

    assert function.aggregate(made, "b") == "a,b"
    assert function.aggregate(text, "b") == "a,b"
    function.reset()
    assert function.aggregate("c", "b") == "c,b"


def test_nothing_blank_is_appended_to_an_accumulated_blank() -> None:
    function = given_function("listagg", pa.string(), list_agg_delimiter=";", distinct="true")

    assert function.aggregate("", "") == ""


@pytest.mark.parametrize(
    ("late", "expected"), [("a", "a,b"), (None, "b"), (" ", "b")], ids=["DX11", "null", "blank"]
)
def test_a_late_text_comes_first(late: str | None, expected: str) -> None:
    function = given_function("listagg", pa.string())

    assert folded(function, [(Step.ADD, "b"), (Step.LATE, late)]) == expected


def test_several_late_texts_come_in_front_one_after_the_other() -> None:
    happenings = [(Step.ADD, "d"), (Step.LATE, "b"), (Step.ADD, "e"), (Step.LATE, "a")]
    function = given_function("listagg", pa.string())
    reduction = given_reduction("listagg", pa.string())
    assert reduction is not None

    assert folded(function, happenings) == "a,b,d,e"
    assert reduced(reduction, pa.string(), [happenings]) == (["a,b,d,e"], [])


def test_retract_is_refused() -> None:
    function = given_function("listagg", pa.string())

    with pytest.raises(SchemaMismatch, match=r"`listagg` .*has no retract"):
        function.retract("a", "a")


def test_only_unbounded_text_is_accepted() -> None:
    accepts = FUNCTIONS["listagg"].accepts

    assert accepts(parse_type("STRING"))
    assert not accepts(parse_type("VARCHAR(100)"))
    assert not accepts(parse_type("INT"))


def test_distinct_is_true_or_false() -> None:
    assert problems_of("listagg", "STRING", distinct="TRUE") == []
    (problem,) = problems_of("listagg", "STRING", distinct="yes")
    assert problem == (
        "fields.v.distinct: not a value of this option (found `yes`)\nhint: one of true, false"
    )
