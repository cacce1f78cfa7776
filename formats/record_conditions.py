"""Conditions over the fields of messages, as streams declare them (`where`, `delete_when`).

The text has the grammar of all conditions (`braid.lake.read.condition_syntax`). The fields are paths of the
message; a reader of the stream's format reads them like columns. The type of a field is that of what it is
compared with:

| compared with | read as |
|---|---|
| a number | DECIMAL(38, 18), so that every integer and most fractions are compared exactly |
| TRUE, FALSE | BOOLEAN |
| a text | the type of the column that is read from the field, if that is a date, a time or bytes; else VARCHAR |
| bytes | VARBINARY |
| nothing (IS NULL) | the type of another comparison, or of the column that is read from the field; else VARCHAR |

A field that is read by a column, too, must be compared with values of the column's kind: no record would have
both a fitting value for the column and one for the condition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

import pyarrow as pa

from braid.formats.integer_bounds import INTEGER_BOUND
from braid.formats.mapped_column import MappedColumn
from braid.lake import (
    BoundCondition,
    Comparison,
    DataType,
    InvalidRequest,
    LiteralKind,
    Problem,
    TypeRoot,
    bind_comparisons,
    matching_rows,
    parse_comparisons,
    parse_type,
)

_Path: TypeAlias = tuple[str, ...]

_MESSAGE: Final = "the conditions cannot be evaluated"
_TEXT: Final = parse_type("STRING")
_TYPES: Final = {
    LiteralKind.NUMBER: parse_type("DECIMAL(38, 18)"),
    LiteralKind.BOOLEAN: parse_type("BOOLEAN"),
    LiteralKind.TEXT: _TEXT,
    LiteralKind.BYTES: parse_type("BYTES"),
}
_TIMES: Final = (TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_NUMBERS: Final = (*INTEGER_BOUND, TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DECIMAL)
_KIND_OF_ROOT: Final = {
    TypeRoot.BOOLEAN: (LiteralKind.BOOLEAN,),
    TypeRoot.CHAR: (LiteralKind.TEXT,),
    TypeRoot.VARCHAR: (LiteralKind.TEXT,),
    **dict.fromkeys(_NUMBERS, (LiteralKind.NUMBER,)),
    **dict.fromkeys(_TIMES, (LiteralKind.TEXT,)),
    **dict.fromkeys(_BINARIES, (LiteralKind.TEXT, LiteralKind.BYTES)),
}
"""The literals that a column's values can be compared with; none for nested types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordConditions:
    """The conditions of a stream, with the fields that they need.

    Attributes:
        fields: The fields, as columns to read; the name of each is its address.
        where: What a record fulfils that belongs to the stream; empty: every record does.
        delete_when: What a record fulfils that is a delete; empty: none does.
    """

    fields: tuple[MappedColumn, ...] = ()
    where: tuple[BoundCondition, ...] = ()
    delete_when: tuple[BoundCondition, ...] = ()

    def belonging(self, values: Mapping[str, pa.Array]) -> pa.BooleanArray | None:
        """Return for each record whether it belongs to the stream, without nulls; None: all do.

        Args:
            values: The fields' values, by name.
        """
        return matching_rows(values, self.where)

    def deleting(self, values: Mapping[str, pa.Array]) -> pa.BooleanArray | None:
        """Return for each record whether it is a delete, without nulls; None: none is.

        Args:
            values: The fields' values, by name.
        """
        return matching_rows(values, self.delete_when)


NO_CONDITIONS: Final = RecordConditions()
"""The conditions of a stream that declares none."""


def record_conditions(
    where: str | None, delete_when: str | None, columns: Sequence[MappedColumn]
) -> RecordConditions:
    """Return the conditions of a stream.

    Args:
        where: The text of the condition; None: none.
        delete_when: The text of the condition; None: none.
        columns: The columns that are read from the message.

    Raises:
        InvalidRequest: A text cannot be parsed, or a field cannot be compared as it is. The field of each
            problem is `where` or `delete_when`.
    """
    texts = {"where": where, "delete_when": delete_when}
    parsed = {name: _parse(name, text) for name, text in texts.items() if text is not None}
    types_of_columns = {column.path: column.type for column in columns}
    time_formats = {column.path: column.time_format for column in columns}
    kinds: dict[_Path, set[LiteralKind]] = {}
    inner: dict[_Path, Comparison] = {}
    for one in chain.from_iterable(parsed.values()):
        kinds.setdefault(one.path, set()).update(literal.kind for literal in one.literals)
        inner |= {one.path[:length]: one for length in range(1, len(one.path))}
    problems = []
    for name, comparisons in parsed.items():
        for one in {one.path: one for one in comparisons}.values():
            found = _why_not(kinds[one.path], types_of_columns.get(one.path))
            if found is None and one.path in inner:
                found = _inside(inner[one.path])
            if found is not None:
                message, hint = found
                problems.append(Problem(field=name, value=one.address, message=message, hint=hint))
    if problems:
        raise InvalidRequest(_MESSAGE, problems=problems)
    fields = {
        one.address: MappedColumn(
            name=one.address,
            path=one.path,
            type=_type_of(kinds[one.path], types_of_columns.get(one.path)),
            is_in_condition=True,
            time_format=time_formats.get(one.path),
        )
        for one in chain.from_iterable(parsed.values())
    }
    types = {name: field.type for name, field in fields.items()}
    bound = {name: _bind(name, found, types) for name, found in parsed.items()}
    return RecordConditions(
        fields=tuple(fields.values()),
        where=bound.get("where", ()),
        delete_when=bound.get("delete_when", ()),
    )


def _parse(name: str, text: str) -> tuple[Comparison, ...]:
    try:
        return parse_comparisons(text)
    except InvalidRequest as error:
        raise InvalidRequest(_MESSAGE, problems=list(_renamed(name, error.problems))) from error


def _bind(
    name: str, comparisons: Sequence[Comparison], types: Mapping[str, DataType]
) -> tuple[BoundCondition, ...]:
    try:
        return bind_comparisons(comparisons, types)
    except InvalidRequest as error:
        problems = [
            Problem(
                field=name,
                value=one.value,
                message=f"field {one.field}: {one.message}",
                hint=one.hint,
            )
            for one in error.problems
        ]
        raise InvalidRequest(_MESSAGE, problems=problems) from error


def _renamed(name: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    for one in problems:
        yield Problem(field=name, value=one.value, message=one.message, hint=one.hint)


def _why_not(kinds: set[LiteralKind], of_column: DataType | None) -> tuple[str, str] | None:
    """Return why a field cannot be compared with literals of these kinds, and a hint."""
    names = " and with ".join(sorted(kind.value for kind in kinds))
    if len(kinds) > 1:
        return f"the field is compared with {names}", "compare it with values of one kind"
    if of_column is None or not kinds:
        return None
    accepted = _KIND_OF_ROOT.get(of_column.root, ())
    if kinds <= {*accepted}:
        return None
    expected = " or ".join(kind.value for kind in accepted)
    return (
        f"the field is compared with {names}, and a column of type {of_column} is read from it",
        f"compare it with {expected}" if expected else "test it with IS NULL or IS NOT NULL",
    )


def _inside(inner: Comparison) -> tuple[str, str]:
    """Return the problem of a field that is also an object with a field that is compared, and a hint."""
    message = f"a message has one thing there: a value, or an object with `{inner.address}`"
    return message, f"leave it out: `{inner.address}` is null where the object is missing"


def _type_of(kinds: set[LiteralKind], of_column: DataType | None) -> DataType:
    """Return the type that a field is read as."""
    if not kinds:
        return _TEXT if of_column is None else of_column.with_nullable(True)
    (kind,) = kinds
    has_own_literals = of_column is not None and of_column.root in (*_TIMES, *_BINARIES)
    if kind is LiteralKind.TEXT and has_own_literals and of_column is not None:
        return of_column.with_nullable(True)
    return _TYPES[kind]
