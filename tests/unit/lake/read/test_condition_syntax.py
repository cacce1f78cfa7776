"""The grammar of conditions: fields of messages, and values as they are written."""

import pytest

from braid.lake.errors import InvalidRequest
from braid.lake.read.condition_syntax import Literal, LiteralKind, parse_comparisons
from braid.lake.read.predicate import Operator


@pytest.mark.parametrize(
    ("text", "path", "address"),
    [
        ("op IS NULL", ("op",), "op"),
        ("payload.op IS NULL", ("payload", "op"), "payload.op"),
        ("_id.`$oid` IS NULL", ("_id", "$oid"), "_id.$oid"),
        ("`a.b`.c is null", ("a.b", "c"), "`a.b`.c"),
        ("`and`.is IS NULL", ("and", "is"), "and.is"),
        ("__deleted IS NULL", ("__deleted",), "__deleted"),
    ],
)
def test_a_field_is_names_joined_by_dots(text: str, path: tuple[str, ...], address: str) -> None:
    (found,) = parse_comparisons(text)

    assert (found.path, found.address, found.op) == (path, address, Operator.IS_NULL)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("-1.5e3", LiteralKind.NUMBER, "-1.5e3"),
        ("False", LiteralKind.BOOLEAN, "false"),
        ("'it''s `'", LiteralKind.TEXT, "it's `"),
        ("x'00FF'", LiteralKind.BYTES, "00FF"),
    ],
)
def test_a_value_keeps_how_it_is_written(text: str, kind: LiteralKind, value: str) -> None:
    (found,) = parse_comparisons(f"f = {text}")

    assert found.literals == (Literal(kind, value),)


@pytest.mark.parametrize("word", ["DATE", "time", "Timestamp"])
def test_a_text_keeps_the_word_of_a_type_before_it(word: str) -> None:
    (found,) = parse_comparisons(f"f = {word} 'x'")

    assert found.literals == (Literal(LiteralKind.TEXT, "x", word.lower()),)


def test_a_list_has_all_its_values() -> None:
    first, second = parse_comparisons("op IN ('d', 't') AND v <> 2")

    assert [one.text for one in first.literals] == ["d", "t"]
    assert (first.op, second.op) == (Operator.IN, Operator.NOT_EQUAL)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a. = 1", r"`\.`"), (".a = 1", r"`\.a`"), ("$.a = 1", r"`\$\.a`"), ("a = b", "`b`")],
)
def test_what_is_no_field_or_value_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(InvalidRequest, match=f"cannot be read at {place}"):
        parse_comparisons(text)
