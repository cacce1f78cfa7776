"""Syntax of expressions: the text is parsed to a tree, each node is checked, and new SQL is written from the checked nodes.

The SQL engine's parser makes the tree. The engine evaluates only the SQL that is written here from nodes of allowed kinds, never
the original text. An expression is refused if it is too long, nested too deeply or has too many nodes, or if its result could
be far larger than the message. A name in an expression is a field of the message, with dots between the names of its path
(`payload.price`); in the written SQL it is a column of the engine's input.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import Any, Final, TypeAlias

from braid.formats.expressions.errors import DEPTH_MAX, SHOWN_MAX, refused, too_deep
from braid.formats.expressions.functions import (
    FUNCTIONS,
    OPERATORS,
    PATTERN_FUNCTIONS,
    UNARY,
    FunctionRule,
    Growth,
)
from braid.formats.expressions.like_patterns import like_regex
from braid.formats.expressions.sql_engine import sql_engine
from braid.formats.expressions.sql_text import (
    identifier,
    is_small_type,
    literal_sql,
    quoted,
    type_sql,
)
from braid.schemas.field_problems import quoted_list

Path: TypeAlias = tuple[str, ...]
NamesIn: TypeAlias = Callable[[str, Iterable[Path]], Sequence[str] | None]
"""Returns the names of the fields of a struct, which a part of an expression gives; None: it gives no struct. The
arguments are the part's SQL and the fields that it uses."""
_Node: TypeAlias = dict[str, Any]

EXPRESSION_LENGTH_MAX: Final = 2_000  # characters
_PARTS_MAX: Final = 1_000
GROWTH_MAX: Final = 100
"""The largest result of an expression, in relation to the message."""
SMALL_MESSAGE: Final = 2_000
"""The number of bytes that smaller messages count as."""

_COMPARISONS: Final = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM",
    "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}
# By name of the function: whether case counts, and whether it is the negation.
_LIKES: Final = {
    "~~": ("s", False),
    "!~~": ("s", True),
    "~~*": ("si", False),
    "!~~*": ("si", True),
    "like_escape": ("s", False),
    "not_like_escape": ("s", True),
    "ilike_escape": ("si", False),
    "not_ilike_escape": ("si", True),
}
_OF_JSON: Final = frozenset({"->>", "json_extract_string", "json_extract", "json_array_length"})
_REFUSED: Final = {
    "SUBQUERY": "a query",
    "LAMBDA": "a lambda",
    "WINDOW": "a window function",
    "STAR": "`*`",
    "PARAMETER": "a parameter",
    "COLLATE": "a collation",
    "POSITIONAL_REFERENCE": "a positional reference",
    "DEFAULT": "DEFAULT",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedExpression:
    """A checked expression.

    Attributes:
        sql: The expression over the columns of the engine's input.
        fields: The paths of the fields that it uses, in the order in which they occur.
        growth: The largest result, in relation to the message.
        constants: The largest parts of `sql` that use no field and are evaluated for every record, but are no literals.
        patterns: The regular expressions.
    """

    sql: str
    fields: tuple[Path, ...]
    growth: int
    constants: tuple[str, ...]
    patterns: tuple[str, ...]


def parse_expression(text: str, columns: Mapping[Path, str], names_in: NamesIn) -> ParsedExpression:
    """Return an expression, checked and written for the engine.

    Args:
        text: The text.
        columns: The fields that it can use, by path, with the names of their columns in the engine's input.
        names_in: Returns the names in a part's value.

    Raises:
        ExpressionError: It is none, or has a part that expressions do not have.
    """
    if len(text) > EXPRESSION_LENGTH_MAX:
        found = (
            f"the expression has {len(text)} characters, expected at most {EXPRESSION_LENGTH_MAX}"
        )
        raise refused(found, "compute a part of it in the program that produces the records")
    writer = _Writer(columns=columns, names_in=names_in)
    part = writer.write(_syntax_tree(text), 0)
    growth = ceil(part.growth)
    if growth > GROWTH_MAX:
        message = f"its result can be {growth} times as long as the message, expected at most {GROWTH_MAX}"
        raise refused(message, "concatenate or replace less")
    return ParsedExpression(
        sql=part.sql,
        fields=tuple(writer.used),
        growth=growth,
        constants=tuple(writer.constants),
        patterns=tuple(writer.patterns),
    )


def _syntax_tree(text: str) -> _Node:
    """Return the tree of the only expression in a text."""
    whole = "write one expression, such as `payload.price * 100`"
    try:
        found = json.loads(sql_engine().syntax_tree(text))
    except RecursionError as error:
        raise too_deep() from error
    if found["error"]:
        message = f"it is not an SQL expression: {found['error_message']}"
        raise refused(message, 'put names that are SQL keywords into quotes: `"order".id`')
    statements = found["statements"]
    node = statements[0]["node"]
    # Whatever else a query can have would be lost without a word.
    if len(statements) > 1 or len(node.get("select_list", ())) != 1:
        message = "it is more than one expression"
        raise refused(message, whole)
    if node | {"select_list": []} != _plain_query() | {"select_list": []}:
        message = "it is a query, and not one expression"
        raise refused(message, whole)
    (tree,) = node["select_list"]
    if tree["alias"]:
        message = f"it names its result `{tree['alias'][:SHOWN_MAX]}`"
        raise refused(message, whole)
    return dict(tree)


@cache
def _plain_query() -> _Node:
    """Return the tree of a query that has one expression and nothing else."""
    node = json.loads(sql_engine().syntax_tree("1"))["statements"][0]["node"]
    return dict(node)


@dataclass(frozen=True, slots=True)
class _Part:
    """A written part, and the largest size of its value in relation to the message, or to 2,000 bytes if it is shorter."""

    sql: str
    growth: float = 1


@dataclass(kw_only=True)
class _Writer:
    """Writes the parts of one expression."""

    columns: Mapping[Path, str]
    names_in: NamesIn
    used: dict[Path, None] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    references: int = 0
    parts: int = 0

    def write(self, node: _Node, depth: int, copies: int = 1) -> _Part:
        """Return a part of the expression.

        Args:
            node: The part of the tree.
            depth: How deep it is nested.
            copies: How often the engine writes it.
        """
        self.parts += copies
        if depth > DEPTH_MAX:
            raise too_deep()
        if self.parts > _PARTS_MAX:
            message = f"the expression has more than {_PARTS_MAX} parts"
            raise refused(message, "compute a part of it in the program that produces the records")

        references, constants = self.references, len(self.constants)
        part = self._written(node, depth, copies)
        is_constant = self.references == references
        if is_constant or _chooses(node):
            del self.constants[constants:]
        if is_constant and node["class"] != "CONSTANT":
            self.constants.append(part.sql)
        return part

    def _written(self, node: _Node, depth: int, copies: int) -> _Part:
        def inner(child: _Node, times: int = 1) -> _Part:
            return self.write(child, depth + 1, copies * times)

        match node["class"]:
            case "CONSTANT":
                sql = literal_sql(node)
                return _Part(sql, len(sql.encode()) / SMALL_MESSAGE)
            case "COLUMN_REF":
                return _Part(self._field(tuple(node["column_names"])))
            case "FUNCTION":
                if node["function_name"].lower() in PATTERN_FUNCTIONS:
                    self.patterns += [
                        text
                        for one in node["arguments"][1:2]
                        if (text := _text(one["expression"])) is not None
                    ]
                return _function(node, inner, self.member)
            case "CAST":
                child, kind = inner(node["child"]), type_sql(node["type_expr"], 0)
                name = "TRY_CAST" if node["try_cast"] else "CAST"
                # As a text a byte is 4 characters.
                is_small = is_small_type(kind)
                growth = 1 if is_small else child.growth * 4
                return _Part(f"{name}({child.sql} AS {kind})", growth)
            case "COMPARISON":
                left, right = inner(node["left"]), inner(node["right"])
                return _Part(f"({left.sql} {_COMPARISONS[node['type']]} {right.sql})")
            case "CONJUNCTION":
                word = " AND " if node["type"] == "CONJUNCTION_AND" else " OR "
                return _Part(f"({word.join(inner(child).sql for child in node['children'])})")
            case "BETWEEN":
                value, low, high = (inner(node[name]).sql for name in ("input", "lower", "upper"))
                return _Part(f"({value} BETWEEN {low} AND {high})")
            case "CASE":
                return _choice(node, inner)
            case "OPERATOR":
                return _operator(node, inner, self.member)
            case other:
                what = _REFUSED.get(other, f"`{other}`")
                message = f"expressions cannot contain {what}"
                raise refused(message, "compute the value from the fields of one record")

    def _field(self, names: Path) -> str:
        """Return the column of a field, and what is below it in a value of type ROW."""
        for length in range(len(names), 0, -1):
            path = names[:length]
            if path in self.columns:
                self.used[path] = None
                self.references += 1
                sql = self.columns[path]
                for name in names[length:]:
                    sql = self.member(sql, name) or f"struct_extract({sql}, {quoted(name)})"
                return sql
        shown = ".".join(names)[:SHOWN_MAX]
        message = f"the type of the field `{shown}` is not declared"
        raise refused(message, f'add "{shown}" with its SQL type to `fields` of the stream')

    def member(self, sql: str, name: str | None) -> str | None:
        """Return one field of the struct that a part gives; None if the part gives no struct.

        It is written by its place: the engine ignores case in names, so that of `SKU` and `sku` it finds the first.

        Args:
            sql: The part.
            name: The name of the field; None: it is not a literal.
        """
        names = self.names_in(sql, self.used)
        if names is None:
            return None
        if name not in names:
            found = "the name" if name is None else f"`{name[:SHOWN_MAX]}`"
            message = f"{found} is no field of this value, whose fields are {quoted_list(names)}"
            hint = 'write the name as it is declared, in quotes if it has capital letters: `item."SKU"`'
            raise refused(message, hint)
        return f"struct_extract_at({sql}, {names.index(name) + 1})"


_Inner: TypeAlias = Callable[..., _Part]
_Member: TypeAlias = Callable[[str, str | None], str | None]


def _function(node: _Node, inner: _Inner, member: _Member) -> _Part:
    name = node["function_name"].lower()
    rules = OPERATORS if name in OPERATORS else FUNCTIONS
    unusual = (
        node["distinct"],
        node["filter"],
        node["order_bys"]["orders"],
        node["export_state"],
        node["catalog"],
        node["schema"],
        node["qualified_name"]["path"] != [node["function_name"]],
    )
    if any(unusual):
        message = f"`{name[:SHOWN_MAX]}` is used in a form that expressions do not support"
        raise refused(message, "write `function(argument, ...)`")
    arguments = [one["expression"] for one in node["arguments"]]
    names = [one["name"] for one in node["arguments"]]
    is_unary = name in UNARY and len(arguments) == 1
    rule = FunctionRule() if is_unary else rules.get(name)
    if rule is None:
        message = f"expressions cannot use the function `{name[:SHOWN_MAX]}`"
        hint = "the guide to mapping lists the functions that expressions can use"
        raise refused(message, hint)
    _check_literals(name, rule, arguments)
    parts = [inner(one, rule.copies if not place else 1) for place, one in enumerate(arguments)]
    growth = _growth(name, rule, parts, arguments)
    if name in _LIKES:
        return _Part(_like(name, parts[0].sql, arguments[1:]))
    if name == "struct_extract" and len(parts) == 2:
        found = member(parts[0].sql, _text(arguments[1]))
        if found is not None:
            return _Part(found, growth)
    if is_unary:
        return _Part(f"({name} {parts[0].sql})", growth)
    if rules is OPERATORS:
        if len(parts) != 2:
            message = f"`{name}` needs two operands"
            raise refused(message, f"write `a {name} b`")
        return _Part(f"({parts[0].sql} {name} {parts[1].sql})", growth)
    if any(names) and name not in ("struct_pack", "struct_insert"):
        message = f"`{name}` does not accept named arguments"
        raise refused(message, "leave the names out")
    written = [
        f"{identifier(label)} := {part.sql}" if label else part.sql
        for label, part in zip(names, parts, strict=True)
    ]
    return _Part(f"{identifier(name)}({', '.join(written)})", growth)


def _check_literals(name: str, rule: FunctionRule, arguments: Sequence[_Node]) -> None:
    if rule.literals_from is None:
        return
    for place, one in enumerate(arguments[rule.literals_from :], rule.literals_from + 1):
        shown = "LIKE" if name in _LIKES else name
        if one["class"] != "CONSTANT":
            message = f"argument {place} of `{shown}` is not a literal"
            raise refused(message, "write the text itself, such as `'a'`")
        path = one["literal"].get("text") or ""
        if name in _OF_JSON and ("*" in path or ".." in path):
            message = f"the path `{path[:SHOWN_MAX]}` of `{shown}` has a wildcard"
            raise refused(message, "name one part of the document, such as `$.a.b`")


def _like(name: str, sql: str, literals: Sequence[_Node]) -> str:
    """Return a match with a pattern of LIKE."""
    options, is_negated = _LIKES[name]
    try:
        regex = like_regex(*(str(one["literal"].get("text") or "") for one in literals))
    except ValueError as error:
        message = f"the pattern of LIKE cannot be used: {error}"
        raise refused(message, "correct the pattern or its escape") from error
    found = f"regexp_full_match({sql}, {quoted(regex)}, '{options}')"
    return f"(NOT {found})" if is_negated else found


def _growth(
    name: str, rule: FunctionRule, parts: Sequence[_Part], arguments: Sequence[_Node]
) -> float:
    sizes = [part.growth for part in parts] or [1.0]
    match rule.growth:
        case Growth.SUM:
            return sum(sizes) * rule.factor
        case Growth.LARGEST:
            return max(sizes) * rule.factor
        case Growth.REPLACED:
            texts = [str(one["literal"]["text"] or "") for one in arguments[1:3]]
            if name == "replace" and len(texts) == 2:
                old, new = (len(text.encode()) for text in texts)
                return sizes[0] * max(1.0, new / max(1, old))
            return sizes[0] * (1 + len(texts[-1].encode()) if texts else 1)


def _choice(node: _Node, inner: _Inner) -> _Part:
    cases = [(inner(one["when_expr"]).sql, inner(one["then_expr"])) for one in node["case_checks"]]
    otherwise = inner(node["else_expr"])
    written = " ".join(f"WHEN {condition} THEN {part.sql}" for condition, part in cases)
    growth = max(otherwise.growth, *(part.growth for _, part in cases))
    return _Part(f"CASE {written} ELSE {otherwise.sql} END", growth)


def _operator(node: _Node, inner: _Inner, member: _Member) -> _Part:
    parts = [inner(child) for child in node["children"]]
    sql = [part.sql for part in parts]
    growth = max(part.growth for part in parts)
    match node["type"], len(parts):
        case "OPERATOR_NOT", 1:
            return _Part(f"(NOT {sql[0]})")
        case "OPERATOR_IS_NULL", 1:
            return _Part(f"({sql[0]} IS NULL)")
        case "OPERATOR_IS_NOT_NULL", 1:
            return _Part(f"({sql[0]} IS NOT NULL)")
        case "COMPARE_IN", count if count > 1:
            return _Part(f"({sql[0]} IN ({', '.join(sql[1:])}))")
        case "OPERATOR_COALESCE", _:
            return _Part(f"coalesce({', '.join(sql)})", growth)
        case "OPERATOR_TRY", 1:
            return _Part(f"TRY({sql[0]})", growth)
        case (("ARRAY_EXTRACT" | "STRUCT_EXTRACT"), 2):
            key = node["children"][1]
            is_number = key["class"] == "CONSTANT" and key["literal"]["kind"] == "INTEGER"
            found = None if is_number else member(sql[0], _text(key))
            return _Part(found or f"({sql[0]})[{sql[1]}]", growth)
        case "ARRAY_SLICE", 3:
            return _Part(f"list_slice({', '.join(sql)})", growth)
        case other, _:
            message = f"expressions cannot contain `{other}`"
            raise refused(message, "compute the value from the fields of one record")


def _chooses(node: _Node) -> bool:
    """Return whether what a node evaluates, or what of it fails, depends on the record."""
    kinds = ("CASE", "CONJUNCTION")
    types = ("OPERATOR_TRY", "OPERATOR_COALESCE")
    is_if = node["class"] == "FUNCTION" and node["function_name"].lower() == "if"
    return is_if or node["class"] in kinds or node["type"] in types


def _text(node: _Node) -> str | None:
    """Return the text of a literal; None for whatever else."""
    is_text = node["class"] == "CONSTANT" and node["literal"]["kind"] == "STRING"
    return str(node["literal"]["text"] or "") if is_text else None
