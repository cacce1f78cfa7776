"""Columns of a table that is altered, as a model has them: values by field id.

Every leaf belongs to a family of types between which each of the family's values goes to and fro
unharmed, so that it does not matter which schemas a value has been read under on its way.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from braid.lake import TableSchema, parse_type
from braid.lake.format.data_types import DataField, DataType

Values: TypeAlias = dict[int, Any]
"""By field id; one that is absent is null."""

FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "count": ("SMALLINT", "INT", "BIGINT"),
    "whole": ("SMALLINT", "INT", "BIGINT", "DECIMAL(12, 0)", "STRING"),
    "half": ("FLOAT", "DOUBLE", "DECIMAL(10, 1)"),
    "text": ("STRING", "VARCHAR(90)", "BYTES"),
    "day": ("DATE", "TIMESTAMP(3)", "TIMESTAMP(6)"),
}
# Of one digit, so that texts are ordered as numbers are.
_VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "count": st.integers(0, 9),
    "whole": st.integers(0, 9),
    "half": st.sampled_from([-0.5, 0.0, 2.5, 9.0]),
    "text": st.sampled_from(["", "x", "ümlaut", "a long text with a tail " * 2]),
    "day": st.sampled_from([date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)]),
}
LEAVES: Final = tuple(FAMILIES)


@dataclass
class Column:
    """A column, or a field nested in one.

    Attributes:
        name: As it is now.
        family: Of a leaf, a key of `FAMILIES`; else `row`, `list` (of rows) or `map` (of rows).
        type: Of a leaf, as it is now.
        id: None until the table has given one.
        fields: Of the row that is within.
        default: Of a column; None for none.
        nullable: Whether it may be null.
    """

    name: str
    family: str
    type: str = ""
    id: int | None = None
    fields: "list[Column]" = field(default_factory=list)
    default: Any = None
    nullable: bool = True

    @property
    def known_id(self) -> int:
        """The id, which the table has given."""
        assert self.id is not None, "take_ids() comes before values"
        return self.id

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is nested in it."""
        return self.family in FAMILIES

    @property
    def sql(self) -> str:
        """The type."""
        fields = ", ".join(f"`{one.name}` {one.sql}" for one in self.fields)
        kinds = {
            "row": f"ROW<{fields}>",
            "list": f"ARRAY<ROW<{fields}>>",
            "map": f"MAP<STRING, ROW<{fields}>>",
        }
        return kinds.get(self.family, self.type) + ("" if self.nullable else " NOT NULL")

    @property
    def inner_path(self) -> tuple[str, ...]:
        """The path to the row within, from the column on."""
        return (self.name, *{"list": ("element",), "map": ("value",)}.get(self.family, ()))

    def values(self) -> st.SearchStrategy[Any]:
        """Return what draws a value, null now and then where it may be."""
        found = self.present()
        return st.none() | found if self.nullable else found

    def present(self) -> st.SearchStrategy[Any]:
        """Return what draws a value that is not null."""
        if self.is_leaf:
            return _VALUES[self.family]
        rows = st.fixed_dictionaries({one.known_id: one.values() for one in self.fields})
        match self.family:
            case "list":
                return st.lists(st.none() | rows, max_size=2)
            case "map":
                maps = st.dictionaries(st.sampled_from("ab"), st.none() | rows, max_size=2)
                return maps.map(lambda found: dict(sorted(found.items())))
            case _:
                return rows

    def shown(self, value: Any) -> Any:
        """Return a value as Arrow gives it under the type that the column has now."""
        if value is None:
            return None
        match self.family:
            case "row":
                return self._shown_row(value)
            case "list":
                return [self._shown_row(item) for item in value]
            case "map":
                return [(key, self._shown_row(item)) for key, item in value.items()]
            case _:
                return _shown_leaf(value, self.type)

    def _shown_row(self, value: Values | None) -> dict[str, Any] | None:
        return None if value is None else shown_row(self.fields, value)


def _shown_leaf(value: Any, kind: str) -> Any:
    if kind == "BYTES":
        return value.encode()
    if kind.startswith("DECIMAL"):
        return Decimal(str(value))
    if kind.startswith("TIMESTAMP"):
        return datetime.combine(value, time())
    return str(value) if kind == "STRING" else value


def copy_of(columns: Sequence[Column]) -> list[Column]:
    """Return columns that can be changed while these stay."""
    return copy.deepcopy(list(columns))


def shown_row(columns: Sequence[Column], row: Values) -> dict[str, Any]:
    """Return a row as a scan gives it."""
    return {one.name: one.shown(row.get(one.known_id)) for one in columns}


def has_homonyms(given: Sequence[Column], now: Sequence[Column]) -> bool:
    """Return whether a name means something else now than it did then."""
    by_name = {one.name: one for one in now}
    both = [(one, by_name[one.name]) for one in given if one.name in by_name]
    return any(old.id != new.id or has_homonyms(old.fields, new.fields) for old, new in both)


def rows_within(columns: Sequence[Column]) -> Iterator[tuple[tuple[str, ...], Column]]:
    """Yield what holds fields, columns at first and then what is nested, each with its path."""
    for column in columns:
        if column.fields:
            yield column.inner_path, column
            for path, inner in rows_within(column.fields):
                yield (*column.inner_path, *path), inner


def take_ids(columns: Sequence[Column], schema: TableSchema, *, above: int) -> None:
    """Check that a schema has just these columns, and take the ids that it has given to new ones.

    Args:
        columns: Of the model.
        schema: Of the table.
        above: Ids up to this have been used before.
    """
    _take_ids(columns, schema.fields, above, schema.highest_field_id)


def _take_ids(
    columns: Sequence[Column], fields: Sequence[DataField], above: int, highest: int
) -> None:
    assert [one.name for one in columns] == [one.name for one in fields]
    for column, found in zip(columns, fields, strict=True):
        if column.id is None:
            assert above < found.id <= highest
            column.id = found.id
        assert column.id == found.id
        assert found.type.nullable == column.nullable
        if column.is_leaf:
            assert found.type == parse_type(column.sql)
        else:
            _take_ids(column.fields, _row_of(found.type).fields, above, highest)


def _row_of(kind: DataType) -> DataType:
    return kind.element or kind.value or kind
