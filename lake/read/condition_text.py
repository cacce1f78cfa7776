"""Conditions as SQL text: `day = 2 AND id >= 100 AND state IN ('new', 'sent')`.

All conditions that are given as text use this grammar: the option `where` of Spark's reader and
`--where` of the command line. It is the part of SQL's WHERE that scans evaluate: comparisons of a
column with values, joined by AND.

    conditions   comparison { AND comparison }
    comparison   column operator value  |  column IN ( value { , value } )  |  column IS [NOT] NULL
    operator     =  <>  !=  <  <=  >  >=
    column       letters, digits and _  |  `any text`
    value        number  |  TRUE  |  FALSE  |  [DATE | TIME | TIMESTAMP] 'text', with '' for '
                 |  X'hexadecimal digits'

Dates and times are parsed as by a cast of the text to the column's type. A time with a zone
(`'2026-01-31T05:15:00+01:00'`, `…Z`) is a value of TIMESTAMP WITH LOCAL TIME ZONE columns; without a zone
it is UTC. `'NaN'`, `'Infinity'` and `'-Infinity'` are values of FLOAT and DOUBLE columns.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, NoReturn

from braid.lake.errors import InvalidRequest, Problem, SchemaMismatch
from braid.lake.format.casts.cast import read_text
from braid.lake.format.data_types import TEXT_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.read.predicate import Condition, Operator, bind_conditions

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<quoted>`[^`]+`)|(?P<text>'(?:[^']|'')*')"
    r"|(?P<bytes>[xX]'(?:[0-9a-fA-F]{2})*')|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<sign><>|!=|<=|>=|[=<>(),]))"
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
_BOOLEANS: Final = {"true": True, "false": False}
_READ_BY_CAST: Final = frozenset({TypeRoot.DATE, TypeRoot.TIME, *TIMESTAMP_ROOTS})
_BYTES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_FLOATS: Final = (TypeRoot.FLOAT, TypeRoot.DOUBLE)
_FLOAT_WORDS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_FRACTION: Final = re.compile(r"\.\d+")
_ZONE: Final = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)\Z")
_HINT: Final = (
    "write comparisons such as `day = 2 AND state IN ('new', 'sent') AND paid IS NOT NULL`; text, dates "
    "and times are in single quotes, the values of IN in parentheses"
)


@dataclass(frozen=True, slots=True)
class _Token:
    """A token: its kind, which is the name of a group of `_TOKEN`, and its text."""

    kind: str
    text: str


_END: Final = _Token("end", "the end")


def parse_conditions(text: str, schema: TableSchema) -> tuple[Condition, ...]:
    """Return the conjunction that a text expresses.

    Args:
        text: See the grammar above; keywords in upper or lower case.
        schema: The table's schema; values are parsed by the types of their columns.

    Raises:
        InvalidRequest: The text cannot be parsed; or there is no such column, or a value is not of
            its column's type.

    Example:
        `parse_conditions("id >= 7", schema)` is `(Condition(column="id", op=">=", value=7),)`.
    """
    conditions = tuple(_Parser(text, schema).conditions())
    bind_conditions(conditions, schema)
    return conditions


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, schema: TableSchema) -> None:
        self._text = text
        self._schema = schema
        self._tokens = list(self._split(text))
        self._position = 0

    def conditions(self) -> Iterator[Condition]:
        yield self._comparison()
        while not self._takes(_END.text, kind="end"):
            self._expect("and")
            yield self._comparison()

    def _split(self, text: str) -> Iterator[_Token]:
        position = 0
        while text[position:].strip():
            found = _TOKEN.match(text, position)
            if found is None:
                self._refuse(text[position:].split(maxsplit=1)[0])
            assert found.lastgroup is not None, "each alternative is a group"
            yield _Token(found.lastgroup, found.group(found.lastgroup))
            position = found.end()

    def _comparison(self) -> Condition:
        column = self._next()
        if column.kind not in ("word", "quoted"):
            self._refuse(column.text)
        name = column.text.strip("`")
        if name not in self._schema.field_names:
            problem = Problem(
                field=name,
                value=None,
                message="the table has no such column",
                hint=f"columns: {', '.join(self._schema.field_names)}",
            )
            message = "the conditions do not fit the table"
            raise InvalidRequest(message, problems=[problem])
        kind = self._schema.field(name).type
        if self._takes("is"):
            operator = Operator.NOT_NULL if self._takes("not") else Operator.IS_NULL
            self._expect("null")
            return Condition(column=name, op=operator)
        if self._takes("in"):
            return Condition(column=name, op=Operator.IN, value=self._values(name, kind))
        sign = self._next()
        if sign.text not in _SIGNS:
            self._refuse(sign.text)
        return Condition(column=name, op=_SIGNS[sign.text], value=self._value(name, kind))

    def _values(self, column: str, kind: DataType) -> Sequence[object]:
        self._expect("(")
        values = [self._value(column, kind)]
        while self._takes(","):
            values.append(self._value(column, kind))
        self._expect(")")
        return values

    def _value(self, column: str, kind: DataType) -> object:
        token = self._next()
        if token.text.lower() in ("date", "time", "timestamp") and self._peek().kind == "text":
            token = self._next()
        if token.kind == "number":
            return _number(token.text, kind)
        if token.kind == "bytes":
            return bytes.fromhex(token.text[2:-1])
        if token.kind == "word" and token.text.lower() in _BOOLEANS:
            return _BOOLEANS[token.text.lower()]
        if token.kind != "text":
            self._refuse(token.text)
        text = token.text[1:-1].replace("''", "'")
        try:
            return _of_text(text, kind)
        except (ValueError, OverflowError, SchemaMismatch) as error:
            problem = Problem(field=column, value=text, message=f"not of type {kind}: {error}")
            message = "the conditions do not fit the table"
            raise InvalidRequest(message, problems=[problem]) from error

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


def _number(text: str, kind: DataType) -> object:
    if kind.root in _FLOATS:
        return float(text)
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def _of_text(text: str, kind: DataType) -> object:
    """Return a quoted text as a value of the column."""
    if kind.root in _BYTES:
        return text.encode()
    if kind.root in _FLOATS and text in _FLOAT_WORDS:
        return float(text)
    if kind.root in TEXT_ROOTS or kind.root not in _READ_BY_CAST:
        return text
    if kind.root is TypeRoot.TIMESTAMP_LTZ and ":" in text and _ZONE.search(text):
        text = _in_utc(text)
    scalar = read_text(text, kind)
    is_nanoseconds = kind.root in TIMESTAMP_ROOTS and (kind.precision or 0) > 6
    return scalar.value if is_nanoseconds else scalar.as_py()


def _in_utc(text: str) -> str:
    """Return a time with a zone as the text of the same time in UTC, its fraction unchanged.

    Raises:
        ValueError: The text is no time in ISO 8601.
        OverflowError: The time is outside the years 1 to 9999 in UTC.
    """
    # The fraction is kept apart, because `datetime` ends at microseconds.
    fraction = _FRACTION.search(text)
    moment = datetime.fromisoformat(_FRACTION.sub("", text, count=1)).astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat(sep=' ')}{fraction[0] if fraction else ''}"
