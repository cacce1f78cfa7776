"""Which type can be read as which other one.

Three questions, three answers: whether a cast loses nothing by its rules (implicit), whether it is
allowed when asked for (explicit), and whether anybody can carry it out (an executor). A column's type
changes only where the last two say yes; merging a record's type into the table's asks the first two.

Source: merge-semantics 8.2.
"""

from enum import Enum
from typing import Final

from lake.format.data_types import LENGTH_MAX, DataType, TypeRoot


class Cast(Enum):
    """What the table of casts says about two kinds of type."""

    NEVER = "never"
    EXPLICIT = "explicit"
    IMPLICIT = "implicit"


_TARGETS: Final = (
    TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.BOOLEAN, TypeRoot.BINARY, TypeRoot.VARBINARY,
    TypeRoot.DECIMAL, TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT,
    TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP,
    TypeRoot.TIMESTAMP_LTZ,
)  # fmt: skip

# A column for each of `_TARGETS`. I implicit, E explicit, `-` never; small letters: allowed, but nobody
# can do it; * only to a nullable STRING.
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
    TypeRoot.MULTISET: "e e - - - - - - - - - - - - - -",
}


def cast_of(source: DataType, target: DataType) -> Cast:
    """Return what is allowed from a type to another, whoever could do it; nullability aside."""
    if source.with_nullable(True) == target.with_nullable(True):
        return Cast.IMPLICIT
    letter = _letter(source.root, target.root)
    if letter == "-":
        return Cast.NEVER
    return Cast.IMPLICIT if letter in "Ii" else Cast.EXPLICIT


def can_cast(source: DataType, target: DataType, *, explicitly: bool) -> bool:
    """Return whether the rules allow the cast; only an explicit one may lose nullability."""
    if not explicitly and source.nullable and not target.nullable:
        return False
    cast = cast_of(source, target)
    return cast is Cast.IMPLICIT or (explicitly and cast is Cast.EXPLICIT)


def has_executor(source: DataType, target: DataType) -> bool:
    """Return whether values of one type can be turned into the other's; nullability aside."""
    if source.with_nullable(True) == target.with_nullable(True):
        return True
    if source.is_nested and target.root is source.root:
        return False
    letter = _letter(source.root, target.root)
    if letter == "*":
        return target.length == LENGTH_MAX and target.nullable
    return letter in "IE"


def _letter(source: TypeRoot, target: TypeRoot) -> str:
    if target not in _TARGETS:
        # Nested types become none but their own kind, and that only in name: paths do the work.
        return "i" if source is target else "-"
    return _CASTS[source].split()[_TARGETS.index(target)]
