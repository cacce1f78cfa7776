"""Conditions as SQL text, parsed without knowledge of any type: `day = 2 AND state IN ('new', 'sent')`.

All conditions that are given as text use this grammar: the option `where` of Spark's reader, `--where` of the
command line, and the conditions of streams over the fields of their messages. It is the part of SQL's WHERE that
scans evaluate: comparisons of a column or field with values, joined by AND.

    conditions   comparison { AND comparison }
    comparison   field operator value  |  field IN ( value { , value } )  |  field IS [NOT] NULL
    operator     =  <>  !=  <  <=  >  >=
    field        name { . name }  |  function ( [ name { . name } | 'text' ] )
    name         letters, digits and _, no digit first  |  `any text`
    value        number  |  TRUE  |  FALSE  |  [DATE | TIME | TIMESTAMP] 'text', with '' for '
                 |  X'hexadecimal digits'

Functions exist only if the caller names some: conditions of streams have functions for the parts of a record besides
its message. A name without a parenthesis after it is always a field, even if a function has the same name.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NoReturn

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.read.predicate import Operator

_NAME: Final = r"(?:`[^`]+`|[^\W\d]\w*)"
_NAMES: Final = re.compile(_NAME)
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')"
    rf"|(?P<bytes>[xX]'(?:[0-9a-fA-F]{{2}})*')|(?P<name>{_NAME}(?:\.{_NAME})*)"
    r"|(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<sign><>|!=|<=|>=|[=<>(),]))"
)
_SIGNS: Final = {
    "=": Operator.EQUAL,
    "<>": Operator.NOT_EQUAL,
    "!=": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.LESS_OR_EQUAL,
    ">": Operator.GREATER,
    ">=": Operator.GREATER_OR_EQUAL,
}
_BOOLEANS: Final = ("true", "false")
_TYPES_OF_TEXTS: Final = ("date", "time", "timestamp")
_HINT: Final = (
    "write comparisons such as `day = 2 AND state IN ('new', 'sent') AND paid IS NOT NULL`; text, dates "
    "and times are in single quotes, the values of IN in parentheses"
)


class LiteralKind(Enum):
    """How a value is written."""

    NUMBER = "a number"
    BOOLEAN = "TRUE or FALSE"
    TEXT = "a text"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it is written.

    Attributes:
        kind: How it is written. A DATE, TIME or TIMESTAMP is a text.
        text: Its text: without quotes; hexadecimal digits for bytes; in lower case for TRUE and FALSE.
        type_word: The word DATE, TIME or TIMESTAMP before a text, in lower case; None: there is none.
    """

    kind: LiteralKind
    text: str
    type_word: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison of a field with literals; several of them are a conjunction.

    Attributes:
        path: The names of the field, one for a column.
        op: The operator.
        literals: One for a comparison, one or more for `IN`, none for the null tests.
        function: The name of the function that `path` is the argument of, in lower case; None: a field.
    """

    path: tuple[str, ...]
    op: Operator
    literals: tuple[Literal, ...] = ()
    function: str | None = None

    @property
    def address(self) -> str:
        """The field's names joined by dots, a name that contains a dot in backquotes; those of a function in parentheses."""
        names = ".".join(f"`{name}`" if "." in name else name for name in self.path)
        return names if self.function is None else f"{self.function}({names})"


def parse_comparisons(text: str, *, functions: Collection[str] = ()) -> tuple[Comparison, ...]:
    """Return the conjunction that a text expresses.

    Args:
        text: See the grammar above; keywords and functions in upper or lower case.
        functions: Names of the functions that there are, in lower case.

    Raises:
        InvalidRequest: The text cannot be parsed; the problem names the place.

    Example:
        >>> parse_comparisons("payload.op IS NULL")
        (Comparison(path=('payload', 'op'), op=<Operator.IS_NULL: 'is_null'>, literals=(), function=None),)
    """
    return tuple(_Parser(text, functions).comparisons())


@dataclass(frozen=True, slots=True)
class _Token:
    """A token: its kind, which is the name of a group of `_TOKEN`, and its text."""

    kind: str
    text: str


_END: Final = _Token("end", "the end")


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, functions: Collection[str]) -> None:
        self._text = text
        self._functions = functions
        self._tokens = list(self._split(text))
        self._position = 0

    def comparisons(self) -> Iterator[Comparison]:
        yield self._comparison()
        while not self._takes(_END.text, kind="end"):
            self._expect("and")
            yield self._comparison()

    def _split(self, text: str) -> Iterator[_Token]:
        position = 0
        end = len(text.rstrip())
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None:
                self._refuse(text[position:].split(maxsplit=1)[0])
            assert found.lastgroup is not None, "each alternative is a group"
            yield _Token(found.lastgroup, found.group(found.lastgroup))
            position = found.end()

    def _comparison(self) -> Comparison:
        field = self._next()
        if field.kind != "name":
            self._refuse(field.text)
        path, function = _path(field.text), None
        if field.text.lower() in self._functions and self._takes("("):
            path, function = self._argument(), field.text.lower()
        if self._takes("is"):
            operator = Operator.NOT_NULL if self._takes("not") else Operator.IS_NULL
            self._expect("null")
            return Comparison(path=path, op=operator, function=function)
        if self._takes("in"):
            literals = tuple(self._list())
            return Comparison(path=path, op=Operator.IN, literals=literals, function=function)
        sign = self._next()
        if sign.text not in _SIGNS:
            self._refuse(sign.text)
        literals = (self._literal(),)
        return Comparison(path=path, op=_SIGNS[sign.text], literals=literals, function=function)

    def _argument(self) -> tuple[str, ...]:
        """Return the names in the parentheses of a function, the first of which is taken already."""
        if self._takes(")"):
            return ()
        token = self._next()
        if token.kind not in ("name", "text"):
            self._refuse(token.text)
        self._expect(")")
        return _path(token.text) if token.kind == "name" else (_unquoted(token.text),)

    def _list(self) -> Iterator[Literal]:
        self._expect("(")
        yield self._literal()
        while self._takes(","):
            yield self._literal()
        self._expect(")")

    def _literal(self) -> Literal:
        token = self._next()
        type_word = None
        if token.text.lower() in _TYPES_OF_TEXTS and self._peek().kind == "text":
            type_word = token.text.lower()
            token = self._next()
        if token.kind == "number":
            return Literal(LiteralKind.NUMBER, token.text)
        if token.kind == "bytes":
            return Literal(LiteralKind.BYTES, token.text[2:-1])
        if token.kind == "name" and token.text.lower() in _BOOLEANS:
            return Literal(LiteralKind.BOOLEAN, token.text.lower())
        if token.kind != "text":
            self._refuse(token.text)
        return Literal(LiteralKind.TEXT, _unquoted(token.text), type_word)

    def _peek(self) -> _Token:
        return self._tokens[self._position] if self._position < len(self._tokens) else _END

    def _next(self) -> _Token:
        token = self._peek()
        self._position += 1
        return token

    def _takes(self, text: str, *, kind: str | None = None) -> bool:
        token = self._peek()
        is_match = token.kind == kind if kind else token.text.lower() == text
        self._position += is_match
        return is_match

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            self._refuse(self._peek().text, expected=text.upper())

    def _refuse(self, found: str, expected: str | None = None) -> NoReturn:
        wanted = "" if expected is None else f", expected {expected}"
        problem = Problem(
            field="where",
            value=self._text,
            message=f"cannot be read at `{found}`{wanted}",
            hint=_HINT,
        )
        message = "the conditions cannot be read"
        raise InvalidRequest(message, problems=[problem])


def _path(text: str) -> tuple[str, ...]:
    return tuple(name.strip("`") for name in _NAMES.findall(text))


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")
