"""Conditions over records, as streams declare them (`where`, `delete_when`).

The text has the grammar of all conditions (`braid.lake.read.condition_syntax`). The fields are paths of the
message, or other parts of the record (`part_conditions`); they are read like columns. A field, a header and the Kafka key are
read as a type that follows from what they are compared with:

| compared with | read as |
|---|---|
| a number | DECIMAL(38, 18): integers of up to 20 digits and most fractions compare exactly; longer integers are refused |
| TRUE, FALSE | BOOLEAN |
| a text | the type of the column that is read from the field, if that is a date, a time or bytes; else VARCHAR |
| bytes | VARBINARY |
| nothing (IS NULL) | the type of another comparison, or of the column that is read from the field; else VARCHAR |

If a column is read from the same field, the field must be compared with values of the column's kind: otherwise no record could
have a value that fits both the column and the condition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

import pyarrow as pa

from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.formats.mapping.nested_times import NESTED
from braid.formats.part_conditions import (
    parse_condition,
    source_of,
    types_of_part,
    wrong_argument,
)
from braid.formats.type_bounds import INTEGER_BOUND
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
    parse_type,
)
from braid.schemas import ColumnSource

_Place: TypeAlias = tuple[ColumnSource, tuple[str, ...]]

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
        fields: The fields of the message, as columns to read; the name of each is its address.
        parts: The other parts of the record, likewise.
        where: What a record fulfils that belongs to the stream; empty: every record does.
        delete_when: What a record fulfils that is a delete; empty: none does.
    """

    fields: tuple[MappedColumn, ...] = ()
    parts: tuple[MappedColumn, ...] = ()
    where: tuple[BoundCondition, ...] = ()
    delete_when: tuple[BoundCondition, ...] = ()

    def belonging_by_parts(self, values: Mapping[str, pa.Array]) -> pa.BooleanArray | None:
        """Return for each record whether what `where` says of its parts holds, without nulls; None: it says nothing.

        Args:
            values: The parts' values, by name.
        """
        names = {part.name for part in self.parts}
        return matching_rows(values, [one for one in self.where if one.column in names])

    def belonging(self, values: Mapping[str, pa.Array]) -> pa.BooleanArray | None:
        """Return for each record whether what `where` says of its fields holds, without nulls; None: it says nothing.

        Args:
            values: The fields' values, by name.
        """
        names = {field.name for field in self.fields}
        return matching_rows(values, [one for one in self.where if one.column in names])

    def where_by_field(self) -> Iterator[tuple[MappedColumn, tuple[BoundCondition, ...]]]:
        """Yield each field that `where` compares, with what it says of this field alone."""
        for field in self.fields:
            if found := tuple(one for one in self.where if one.column == field.name):
                yield field, found

    def deleting(self, values: Mapping[str, pa.Array]) -> pa.BooleanArray | None:
        """Return for each record whether it is a delete, without nulls; None: none is.

        Args:
            values: The values of fields and parts, by name.
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
        columns: The columns that are read from records.

    Raises:
        InvalidRequest: A text cannot be parsed, or a field cannot be compared as it is. The field of each
            problem is `where` or `delete_when`.
    """
    texts = {"where": where, "delete_when": delete_when}
    parsed = {name: _parse(name, text) for name, text in texts.items() if text is not None}
    of_columns = {(column.source, column.path): column for column in columns}
    kinds: dict[_Place, set[LiteralKind]] = {}
    inner: dict[_Place, Comparison] = {}
    for one in chain.from_iterable(parsed.values()):
        source, path = _place(one)
        kinds.setdefault((source, path), set()).update(literal.kind for literal in one.literals)
        # A part as a whole has no fields: `key()` beside `key(id)` is read on its own.
        inner |= {(source, path[:length]): one for length in range(1, len(path))}
    problems = []
    for name, comparisons in parsed.items():
        for one in {_place(one): one for one in comparisons}.values():
            place = _place(one)
            found = wrong_argument(one) or _why_not(kinds[place], place, of_columns.get(place))
            if found is None and place in inner:
                found = _inside(inner[place])
            if found is not None:
                message, hint = found
                problems.append(Problem(field=name, value=one.address, message=message, hint=hint))
    if problems:
        raise InvalidRequest(_MESSAGE, problems=problems)
    fields = {
        one.address: MappedColumn(
            name=one.address,
            path=one.path,
            type=_type_of(kinds[place], place, of_columns.get(place)),
            source=place[0],
            is_in_condition=True,
            time_format=_time_format(of_columns.get(place)),
        )
        for one in chain.from_iterable(parsed.values())
        for place in (_place(one),)
    }
    types = {name: field.type for name, field in fields.items()}
    bound = {name: _bind(name, found, types) for name, found in parsed.items()}
    return RecordConditions(
        fields=tuple(one for one in fields.values() if one.source is ColumnSource.VALUE),
        parts=tuple(one for one in fields.values() if one.source is not ColumnSource.VALUE),
        where=bound.get("where", ()),
        delete_when=bound.get("delete_when", ()),
    )


def _parse(name: str, text: str) -> tuple[Comparison, ...]:
    try:
        return parse_condition(text)
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


def _place(comparison: Comparison) -> _Place:
    return source_of(comparison), comparison.path


def _time_format(column: MappedColumn | None) -> TimeFormat | None:
    # A part that is no text has none, so a column that is read from it has none either.
    return None if column is None or column.type.root in NESTED else column.time_format


def _why_not(
    kinds: set[LiteralKind], place: _Place, column: MappedColumn | None
) -> tuple[str, str] | None:
    """Return why a field or part cannot be compared with literals of these kinds, and a hint."""
    names = " and with ".join(sorted(kind.value for kind in kinds))
    what = "the field" if place[0] is ColumnSource.VALUE else "it"
    if len(kinds) > 1:
        return f"{what} is compared with {names}", "compare it with values of one kind"
    types = types_of_part(place[0])
    if types is not None:
        expected = " or ".join(kind.value for kind in types)
        is_fit = kinds <= types.keys()
        return None if is_fit else (f"it is compared with {names}", f"compare it with {expected}")
    if column is None or not kinds:
        return None
    accepted = _KIND_OF_ROOT.get(column.type.root, ())
    if kinds <= {*accepted}:
        return None
    expected = " or ".join(kind.value for kind in accepted)
    return (
        f"{what} is compared with {names}, and a column of type {column.type} is read from it",
        f"compare it with {expected}" if expected else "test it with IS NULL or IS NOT NULL",
    )


def _inside(inner: Comparison) -> tuple[str, str]:
    """Return the problem of a field that is also an object with a field that is compared, and a hint."""
    message = (
        f"the field is compared as a value, but `{inner.address}` is inside of it: "
        "in a message it is either a value or an object"
    )
    return message, f"leave it out: `{inner.address}` is null where the object is missing"


def _type_of(kinds: set[LiteralKind], place: _Place, column: MappedColumn | None) -> DataType:
    """Return the type that a field or part is read as."""
    types = types_of_part(place[0])
    if types is not None:
        return types[next(iter(kinds or types))]
    of_column = None if column is None else column.type
    if not kinds:
        return _TEXT if of_column is None else of_column.with_nullable(True)
    (kind,) = kinds
    has_own_literals = of_column is not None and of_column.root in (*_TIMES, *_BINARIES)
    if kind is LiteralKind.TEXT and has_own_literals and of_column is not None:
        return of_column.with_nullable(True)
    return _TYPES[kind]
