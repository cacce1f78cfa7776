"""The column types of the format that this version supports, their canonical text, and the numbering of fields.

The parser of that text is `type_codec`.

Source: table-format 2.1 and 2.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

LENGTH_MAX: Final = 2_147_483_647
DECIMAL_PRECISION_MAX: Final = 38
TIMESTAMP_PRECISION_MAX: Final = 9
# Id of a field that no schema has numbered yet.
UNASSIGNED: Final = -1


class TypeRoot(StrEnum):
    """The kinds of types that this version supports.

    The value is the word of the kind in a schema file. Three kinds are written in other words:
    `TIMESTAMP_LTZ` as `TIMESTAMP(p) WITH LOCAL TIME ZONE`, and the longest VARCHAR and VARBINARY as
    `STRING` and `BYTES`.
    """

    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BOOLEAN = "BOOLEAN"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DECIMAL = "DECIMAL"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    ARRAY = "ARRAY"
    MAP = "MAP"
    MULTISET = "MULTISET"
    ROW = "ROW"
    VARIANT = "VARIANT"


NESTED_ROOTS: Final = frozenset({TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.MULTISET, TypeRoot.ROW})
TIMESTAMP_ROOTS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})
TEXT_ROOTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
BYTES_ROOTS: Final = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})
_LENGTH_ROOTS: Final = TEXT_ROOTS | BYTES_ROOTS
_PRECISION_ROOTS: Final = TIMESTAMP_ROOTS | {TypeRoot.DECIMAL, TypeRoot.TIME}
_ELEMENT_ROOTS: Final = frozenset({TypeRoot.ARRAY, TypeRoot.MULTISET})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataType:
    """One column type.

    Attributes:
        root: The kind.
        nullable: False for `NOT NULL`.
        length: Characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY; None for other types.
        precision: Digits of DECIMAL (1..38), digits of the second of TIME and both timestamps (0..9);
            None for other types.
        scale: Digits of DECIMAL after the point; None for other types.
        element: Type of the elements of ARRAY and MULTISET; None for other types.
        key: Type of the keys of MAP; None for other types.
        value: Type of the values of MAP; None for other types.
        fields: Fields of ROW, in order; empty for other types.
    """

    root: TypeRoot
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    element: "DataType | None" = None
    key: "DataType | None" = None
    value: "DataType | None" = None
    fields: "tuple[DataField, ...]" = ()

    def __post_init__(self) -> None:
        """Check that exactly the attributes of the kind of type are set."""
        assert (self.length is not None) == (self.root in _LENGTH_ROOTS), self.root
        assert (self.precision is not None) == (self.root in _PRECISION_ROOTS), self.root
        assert (self.scale is not None) == (self.root is TypeRoot.DECIMAL), self.root
        assert (self.element is not None) == (self.root in _ELEMENT_ROOTS), self.root
        assert (self.value is not None) == (self.root is TypeRoot.MAP), self.root
        assert (self.key is not None) == (self.root is TypeRoot.MAP), self.root
        assert not self.fields or self.root is TypeRoot.ROW, self.root

    def __str__(self) -> str:
        """Return the canonical text, nested types in SQL form (`ARRAY<INT>`)."""
        return self._text() + ("" if self.nullable else " NOT NULL")

    @property
    def is_nested(self) -> bool:
        """Return whether it is an ARRAY, MAP, MULTISET or ROW."""
        return self.root in NESTED_ROOTS

    @property
    def is_plain(self) -> bool:
        """Return whether its values are single ones: it is neither nested nor VARIANT.

        Other types have no bounds and no default, and are in no key.
        """
        return not self.is_nested and self.root is not TypeRoot.VARIANT

    def with_nullable(self, nullable: bool) -> "DataType":
        """Return the same type, nullable or not."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def _text(self) -> str:
        match self.root:
            case TypeRoot.VARCHAR if self.length == LENGTH_MAX:
                return "STRING"
            case TypeRoot.VARBINARY if self.length == LENGTH_MAX:
                return "BYTES"
            case TypeRoot.CHAR | TypeRoot.VARCHAR | TypeRoot.BINARY | TypeRoot.VARBINARY:
                return f"{self.root}({self.length})"
            case TypeRoot.DECIMAL:
                return f"DECIMAL({self.precision}, {self.scale})"
            case TypeRoot.TIME | TypeRoot.TIMESTAMP:
                return f"{self.root}({self.precision})"
            case TypeRoot.TIMESTAMP_LTZ:
                return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"
            case TypeRoot.ARRAY | TypeRoot.MULTISET:
                return f"{self.root}<{self.element}>"
            case TypeRoot.MAP:
                return f"MAP<{self.key}, {self.value}>"
            case TypeRoot.ROW:
                names = [field.name.replace("`", "``") for field in self.fields]
                types = [field.type for field in self.fields]
                inner = ", ".join(f"`{n}` {t}" for n, t in zip(names, types, strict=True))
                return f"ROW<{inner}>"
            case _:
                return str(self.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataField:
    """One column of a table, or one field of a ROW.

    Attributes:
        id: Number that no other column or nested field of the table ever has; `UNASSIGNED` before it
            is numbered.
        name: The name as the user wrote it; case matters.
        type: Type of the values, nullability included.
        description: Free text.
        default_value: Text of the value that writers store where a record has null or lacks the column.
    """

    id: int = UNASSIGNED
    name: str
    type: DataType
    description: str | None = None
    default_value: str | None = None


def holds_variant(data_type: DataType) -> bool:
    """Return whether a type is VARIANT, or has VARIANT as a part at any depth."""
    if data_type.root is TypeRoot.VARIANT:
        return True
    parts = [data_type.element, data_type.key, data_type.value]
    parts += [field.type for field in data_type.fields]
    return any(part is not None and holds_variant(part) for part in parts)


def assign_field_ids(fields: Sequence[DataField], *, first_id: int = 0) -> tuple[DataField, ...]:
    """Return the fields numbered from `first_id`, each before the fields nested in it.

    Paimon numbers the columns of a new table in this order.
    """
    counter = iter(range(first_id, LENGTH_MAX))
    return tuple(_renumber_field(field, counter) for field in fields)


def highest_field_id(fields: Sequence[DataField]) -> int:
    """Return the highest id in use, nested fields included; -1 without fields."""
    return max((field.id for field in walk_fields(fields)), default=UNASSIGNED)


def walk_fields(fields: Sequence[DataField]) -> Iterator[DataField]:
    """Yield every field, each before the fields nested in its type."""
    for field in fields:
        yield field
        yield from _walk_type(field.type)


def _walk_type(data_type: DataType) -> Iterator[DataField]:
    yield from walk_fields(data_type.fields)
    for part in (data_type.element, data_type.key, data_type.value):
        if part is not None:
            yield from _walk_type(part)


def _renumber_field(field: DataField, counter: Iterator[int]) -> DataField:
    field_id = next(counter)
    return replace(field, id=field_id, type=_renumber_type(field.type, counter))


def _renumber_type(data_type: DataType, counter: Iterator[int]) -> DataType:
    if not data_type.is_nested:
        return data_type
    return replace(
        data_type,
        element=data_type.element and _renumber_type(data_type.element, counter),
        key=data_type.key and _renumber_type(data_type.key, counter),
        value=data_type.value and _renumber_type(data_type.value, counter),
        fields=tuple(_renumber_field(field, counter) for field in data_type.fields),
    )
