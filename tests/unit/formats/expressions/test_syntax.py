"""Expressions are written anew from parts that are known; every other part is refused by name."""

import pytest

from braid.formats.expressions.errors import ExpressionError
from braid.formats.expressions.syntax import parse_expression

COLUMNS = {("payload", "price"): "f0", ("a",): "f1", ("item",): "f2", ("order", "id"): "f3"}


def names_in(sql: str, _: object) -> list[str] | None:
    """Return the names in `item`, and in its elements as if it were a list."""
    return {"f2": ["SKU", "sku"], "(f2)[1]": ["x"]}.get(sql)


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("payload.price * 100 + 1", "((f0 * 100) + 1)"),
        ("-a // -2", "((- f1) // (-2))"),
        (
            "CASE WHEN a IS NULL THEN 'it''s' ELSE NULL END",
            "CASE WHEN (f1 IS NULL) THEN 'it''s' ELSE NULL END",
        ),
        (
            "CASE a WHEN 1 THEN TRUE END",
            "CASE WHEN (f1 = 1) THEN TRUE ELSE NULL END".replace("TRUE", "true"),
        ),
        ("a BETWEEN 1 AND 2 AND NOT a IN (3, 4)", None),
        ("a::DECIMAL(9, 2)", "CAST(f1 AS DECIMAL(9, 2))"),
        ("TRY_CAST(a AS INT[])", "TRY_CAST(f1 AS INTEGER[])"),
        (
            'a::STRUCT(x INT, "y z" VARCHAR[])',
            'CAST(f1 AS STRUCT("x" INTEGER, "y z" VARCHAR[]))',
        ),
        ("a::MAP(VARCHAR, INT)", "CAST(f1 AS MAP(VARCHAR, INTEGER))"),
        ("item.sku", "struct_extract_at(f2, 2)"),
        ("(item).sku", "struct_extract_at(f2, 2)"),
        ("item[1].x", "struct_extract_at((f2)[1], 1)"),
        ("item['SKU']", "struct_extract_at(f2, 1)"),
        ("struct_extract(item, 'sku')", "struct_extract_at(f2, 2)"),
        ("a['sku']", "(f1)['sku']"),
        ("a[a]", "(f1)[f1]"),
        ("item[1:2]", "list_slice(f2, 1, 2)"),
        ('"order".id', "f3"),
        ("[a]", '"list_value"(f1)'),
        ("MAP {a: 1}", '"map"("list_value"(f1), "list_value"(1))'),
        ("{'x': a}", '"struct_pack"("x" := f1)'),
        ("a LIKE 'x_%.'", "regexp_full_match(f1, 'x..*\\.', 's')"),
        ("a NOT ILIKE '50!%' ESCAPE '!'", "(NOT regexp_full_match(f1, '50%', 'si'))"),
        ("coalesce(a, 1) IS DISTINCT FROM TRY(a)", "(coalesce(f1, 1) IS DISTINCT FROM TRY(f1))"),
        ("extract(hour FROM a)", "\"date_part\"('HOUR', f1)"),
        ("a AT TIME ZONE 'Europe/Berlin'", "\"timezone\"('Europe/Berlin', f1)"),
        ("a ->> '$.x' -- a comment", "(f1 ->> '$.x')"),
        ("(" * 90 + "a" + ")" * 90, "f1"),
    ],
)
def test_parts_are_written_anew(text: str, sql: str | None) -> None:
    found = parse_expression(text, COLUMNS, names_in).sql

    assert found == (sql or "((f1 BETWEEN 1 AND 2) AND (NOT (f1 IN (3, 4))))")


def test_fields_are_named_once_in_the_order_of_their_use() -> None:
    found = parse_expression("payload.price + a + payload.price", COLUMNS, names_in)

    assert found.fields == (("payload", "price"), ("a",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not an SQL expression"),
        ("1 +", "it is not an SQL expression: syntax error"),
        ("order.id", "it is not an SQL expression"),
        ("a, a", "it is more than one expression"),
        ("a; SELECT 1", "it is more than one expression|it is not an SQL expression"),
        ("a AS b", "it names its result `b`"),
        ("a FROM secrets", "it is a query"),
        ("a WHERE TRUE", "it is a query"),
        ("a LIMIT 1", "it is a query"),
        ("DISTINCT a", "it is a query"),
        ("(SELECT 1)", "cannot contain a query"),
        ("EXISTS (SELECT 1)", "cannot contain a query"),
        ("a IN (SELECT 1)", "cannot contain a query"),
        ("row_number() OVER ()", "cannot contain a window function"),
        ("*", r"cannot contain `\*`"),
        ("?", "cannot contain a parameter"),
        ("$1", "cannot contain a parameter"),
        ("#1", "cannot contain a positional reference"),
        ("a COLLATE nocase", "cannot contain a collation"),
        ("list_transform(item, x -> x)", "cannot use the function `list_transform`"),
        ("[x FOR x IN item]", "cannot use the function `list_apply`"),
        ("count(*)", "cannot use the function `count_star`"),
        ("sum(a)", "cannot use the function `sum`"),
        ("now()", "cannot use the function `now`"),
        ("current_timestamp", "cannot use the function|is not declared"),
        ("random()", "cannot use the function `random`"),
        ("uuid()", "cannot use the function `uuid`"),
        ("nextval('s')", "cannot use the function `nextval`"),
        ("getenv('HOME')", "cannot use the function `getenv`"),
        ("current_setting('threads')", "cannot use the function `current_setting`"),
        ("read_text('/etc/passwd')", "cannot use the function `read_text`"),
        ("repeat('x', 1000000000)", "cannot use the function `repeat`"),
        ("range(1000000000)", "cannot use the function `range`"),
        ("age(a)", "cannot use the function `age`"),
        ("upper(DISTINCT a)", "`upper` is used in a form"),
        ("main.upper(a)", "`upper` is used in a form"),
        ("a.upper()", "`upper` is used in a form"),
        ("upper(x := a)", "`upper` does not accept named arguments"),
        ("a::mood", "cannot cast to `mood`"),
        ("a::INT[3]", r"cannot cast to `array\(...\)`"),
        ("a::VARCHAR(10)", r"cannot cast to `VARCHAR\(...\)`"),
        ("X'00'", "cannot contain the literal `00`"),
        ("b + 1", "the type of the field `b` is not declared"),
        ("A", "the type of the field `A` is not declared"),
        ("item.Sku", "`Sku` is no field of this value, whose fields are `SKU`, `sku`"),
        ("item['s' || 'ku']", "the name is no field of this value"),
        ("struct_extract(item, 's' || 'ku')", "argument 2 of `struct_extract` is not a literal"),
        ("payload", "the type of the field `payload` is not declared"),
        ("a LIKE item", "argument 2 of `LIKE` is not a literal"),
        ("a LIKE 'x!' ESCAPE '!'", "the pattern of LIKE cannot be used"),
        ("contains(a, item)", "argument 2 of `contains` is not a literal"),
        ("a ->> '$.*'", "has a wildcard"),
        ("[" * 101 + "a" + "]" * 101, "nested more than 100 levels deep"),
        ("[" * 900 + "a" + "]" * 900, "nested more than 100 levels deep"),
        ("+".join(["a"] * 900), "nested more than 100 levels deep"),
        ("'" + "x" * 2_000 + "'", "has 2002 characters, expected at most 2000"),
        ("nullif(" * 10 + "a" + ", 1)" * 10, "has more than 1000 parts"),
        ("concat(" + ", ".join(["a"] * 101) + ")", "can be 101 times as long as the message"),
        ("replace(replace(a, 'x', 'xxxxxxxxxxx'), 'x', 'xxxxxxxxxx')", "can be 110 times as long"),
    ],
)
def test_everything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        parse_expression(text, COLUMNS, names_in)

    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "growth"),
    [
        ("[" + ", ".join(["1"] * 600) + "]", 1),
        ("a || a || 'x'", 3),
        ("replace('" + "x" * 1_000 + "', 'x', '" + "y" * 100 + "')", 51),
        ("a + a + a", 1),
        ("a::VARCHAR", 4),
        ("CASE WHEN a THEN hex(a) ELSE a || a || a END", 3),
        ("regexp_replace(a, '[^0-9]', '', 'g')", 1),
        ("array_to_string(item, ', ')", 3),
    ],
)
def test_the_largest_result_in_relation_to_the_message(text: str, growth: int) -> None:
    assert parse_expression(text, COLUMNS, names_in).growth == growth


def test_a_replacement_that_is_no_longer_than_what_it_replaces_makes_no_text_longer() -> None:
    text = "a"
    for old, new in [("-", ""), (" ", "_"), ("ä", "ae"), ("&", "&amp;")]:
        text = f"replace({text}, '{old}', '{new}')"

    assert parse_expression(text, COLUMNS, names_in).growth == 5
