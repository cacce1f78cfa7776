"""The rules of casts between column types.

A pair of types has two properties:

- the kind of its cast: implicit (nothing is lost, by the rules), explicit (values may be lost), or
  none;
- whether values can be converted: some casts that the rules allow have no conversion.

A change of a column's type requires an allowed cast and a conversion, because old files keep the old type.
Merging a record's type into the table's requires no conversion; its other conditions are in
`braid.lake.evolution.merge_types`.

Source: merge-semantics 8.2.
"""

from enum import Enum
from typing import Final

from braid.lake.format.data_types import LENGTH_MAX, DataType, TypeRoot, holds_variant


class Cast(Enum):
    """The kind of cast between two kinds of types."""

    NEVER = "never"
    EXPLICIT = "explicit"
    IMPLICIT = "implicit"


_TARGETS: Final = (
    TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.BOOLEAN, TypeRoot.BINARY, TypeRoot.VARBINARY,
    TypeRoot.DECIMAL, TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT,
    TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP,
    TypeRoot.TIMESTAMP_LTZ,
)  # fmt: skip

# A column for each of `_TARGETS`: I implicit, E explicit, `-` none. Lower case: without a conversion. `*`:
# explicit, with a conversion only if the target is a nullable STRING.
_CASTS: Final = {
    TypeRoot.CHAR: "I I E E E E E E E E E E E E E E",
    TypeRoot.VARCHAR: "E I E E E E E E E E E E E E E E",
    TypeRoot.BOOLEAN: "E E i - - E E E E E E E - - - -",
    TypeRoot.BINARY: "E E - I I - - - - - - - - - - -",
    TypeRoot.VARBINARY: "E E - E I - - - - - - - - - - -",
    TypeRoot.DECIMAL: "E E - - - I E E E E I I - - e e",
    TypeRoot.TINYINT: "E E E - - I I I I I I I - - e e",
    TypeRoot.SMALLINT: "E E E - - I E I I I I I - - e e",
    TypeRoot.INT: "E E E - - I E E I I I I - - E E",
    TypeRoot.BIGINT: "E E E - - I E E E I I I - - E E",
    TypeRoot.FLOAT: "E E - - - I E E E E I I - - e e",
    TypeRoot.DOUBLE: "E E - - - I E E E E E I - - e e",
    TypeRoot.DATE: "e * - - - - - - - - - - i - E E",
    TypeRoot.TIME: "e * - - - - - - - - - - - i E E",
    TypeRoot.TIMESTAMP: "e * - - - e e e E E e e I I I I",
    TypeRoot.TIMESTAMP_LTZ: "e * - - - e e e E E e e E E I I",
    TypeRoot.ARRAY: "E E - - - - - - - - - - - - - -",
    TypeRoot.MAP: "E E - - - - - - - - - - - - - -",
    TypeRoot.ROW: "E E - - - - - - - - - - - - - -",
    TypeRoot.VARIANT: "e e - - - - - - - - - - - - - -",
    TypeRoot.MULTISET: "e e - - - - - - - - - - - - - -",
}


def cast_of(source: DataType, target: DataType) -> Cast:
    """Return the kind of cast from a type to another, with a conversion or without; ignores nullability."""
    if source.with_nullable(True) == target.with_nullable(True):
        return Cast.IMPLICIT
    letter = _letter(source.root, target.root)
    if letter == "-":
        return Cast.NEVER
    return Cast.IMPLICIT if letter in "Ii" else Cast.EXPLICIT


def can_cast(source: DataType, target: DataType, *, explicitly: bool) -> bool:
    """Return whether the rules allow the cast; only an explicit cast may turn a nullable type into NOT NULL."""
    if not explicitly and source.nullable and not target.nullable:
        return False
    cast = cast_of(source, target)
    return cast is Cast.IMPLICIT or (explicitly and cast is Cast.EXPLICIT)


def has_conversion(source: DataType, target: DataType) -> bool:
    """Return whether values of one type can be converted to the other.

    Nullability matters only for dates, times and timestamps: as text they become only a nullable STRING.
    """
    if source.with_nullable(True) == target.with_nullable(True):
        return True
    if source.is_nested and target.root is source.root:
        return False
    if holds_variant(source):
        return False  # not even as text inside of a nested type
    letter = _letter(source.root, target.root)
    if letter == "*":
        return target.length == LENGTH_MAX and target.nullable
    return letter in "IE"


def _letter(source: TypeRoot, target: TypeRoot) -> str:
    if target not in _TARGETS:
        # A nested type can only become a type of its own kind; the types inside it are cast for themselves.
        return "i" if source is target else "-"
    return _CASTS[source].split()[_TARGETS.index(target)]
