"""Problems that several rules report, with hints that guess the intended name; look-up of columns."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final

from braid.lake.errors import Problem
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema

_NAME_MAX: Final = 100  # characters
_COMPARED_MAX: Final = 200
_LISTED_MAX: Final = 50


def find_field(schema: TableSchema, name: str) -> DataField | None:
    """Return the column of that name, or None."""
    return schema.fields_by_name.get(name)


def repeated(field: str, names: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for every name that occurs more than once."""
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(field=field, value=name, message="the column is named more than once")


def unknown_column(field: str, name: str, schema: TableSchema) -> Problem:
    """Return the problem of a name that no column has."""
    return Problem(
        field=field,
        value=name,
        message="the table has no such column",
        hint=known_names("columns", name, schema.field_names),
    )


def unordered_type(field: str, column: DataField) -> Problem:
    """Return the problem of a column that is to order records, and whose values have no order."""
    return Problem(
        field=field,
        value=f"{column.name} {column.type}",
        message="VARIANT values have no order",
        hint="order records by a number, a time or a text",
    )


def known_names(what: str, name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown name: the known name that was probably meant, then all of them.

    A name that differs only in case or surrounding blanks is preferred to similar names.

    Example:
        >>> known_names("functions", "Sum", ["max", "sum"])
        'did you mean `sum`? functions: max, sum'
    """
    plain = name.strip().lower()
    folded = next((other for other in known if other.lower() == plain), None)
    # The cost of comparing is the product of lengths and number, so long names and lists are not
    # compared.
    is_short = len(plain) <= _NAME_MAX and len(known) <= _COMPARED_MAX
    close = get_close_matches(plain, known, n=1) if is_short and folded is None else []
    meant = close if folded is None else [folded]
    question = f"did you mean `{meant[0]}`? " if meant else ""
    listed = ", ".join(islice(known, _LISTED_MAX)) or "none"
    rest = len(known) - _LISTED_MAX
    return f"{question}{what}: {listed}" + (f" and {rest} more" if rest > 0 else "")


def conflict(field: str, value: str, other: str, because: str | None = None) -> Problem:
    """Return the problem of an option that excludes another declaration."""
    choose = "choose one of the two"
    return Problem(
        field=field,
        value=value,
        message=f"conflicts with {other}",
        hint=choose if because is None else f"{because}; {choose}",
    )
