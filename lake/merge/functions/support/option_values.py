"""Values of the options of aggregate functions: parsing and validation.

The `*_problems` functions yield the invalid values, for the check of a declaration. Parsing does not fail, because
tables of other engines may have such values: a flag, a choice or a number that cannot be read counts as the default,
and so does a number beyond 32 bits. A number outside the option's bounds is used as it is. Only the name of a field
that does not exist is an error there (`field_index`).
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from braid.lake.errors import Problem
from braid.lake.format.data_types import DataField
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.declared_options import split_names
from braid.lake.merge.functions.support.function_errors import value_error
from braid.lake.options.option_parsers import parse_integer

INT_MAX = 2**31 - 1
_INT_MIN = -(2**31)
_FLAGS = {"true": True, "false": False}


def option_key(function: ColumnFunction, key: str) -> str:
    """Return the full key of a column's option."""
    return f"fields.{function.column}.{key}"


def has_option(function: ColumnFunction, key: str) -> bool:
    """Return whether the column declares the option."""
    return any(key == declared for declared, _ in function.options)


def flag(function: ColumnFunction, key: str) -> bool:
    """Return a boolean option, false by default."""
    return _FLAGS.get(_lowered(function, key, "false"), False)


def choice(function: ColumnFunction, key: str, default: str, known: Sequence[str]) -> str:
    """Return an option that is one of a few words, in lower case."""
    found = _lowered(function, key, default)
    return found if found in known else default


def names(function: ColumnFunction, key: str) -> tuple[str, ...]:
    """Return the trimmed names of an option that lists some; none when it is absent."""
    if not has_option(function, key):
        return ()
    return tuple(name.strip() for name in split_names(function.option(key, "")))


def field_index(function: ColumnFunction, key: str, name: str, row_type: pa.DataType) -> int:
    """Return the index of the field of a ROW that an option names.

    Raises:
        SchemaMismatch: The ROW has no such field.
    """
    index: int = row_type.get_field_index(name)
    if index < 0:
        known = ", ".join(row_type.field(number).name for number in range(row_type.num_fields))
        raise value_error(
            function.column,
            function.name,
            f"has `{option_key(function, key)}`, but the ROW has no such field",
            f"fields: {known}",
            value=name,
        )
    return index


def integer(function: ColumnFunction, key: str, default: int) -> int:
    """Return an integer option."""
    found = _parse_int(function.option(key, str(default)))
    return default if found is None else found


def flag_problems(function: ColumnFunction, key: str) -> Iterator[Problem]:
    """Yield the problem of a boolean option."""
    yield from choice_problems(function, key, tuple(_FLAGS))


def choice_problems(function: ColumnFunction, key: str, known: Sequence[str]) -> Iterator[Problem]:
    """Yield the problem of an option that is one of a few words, in any case."""
    if has_option(function, key) and _lowered(function, key, "") not in known:
        yield Problem(
            field=option_key(function, key),
            value=function.option(key, ""),
            message="not a value of this option",
            hint=f"one of {', '.join(known)}",
        )


def count_problems(function: ColumnFunction, key: str) -> Iterator[Problem]:
    """Yield the problem of an option that is a number from 1."""
    text = function.option(key, "1")
    count = _parse_int(text)
    if count is None or count < 1:
        yield Problem(
            field=option_key(function, key),
            value=text,
            message=f"expected a whole number from 1 to {INT_MAX}",
            hint=f"for example 100; the default is {INT_MAX}",
        )


def range_problems(function: ColumnFunction, key: str, low: int, high: int) -> Iterator[Problem]:
    """Yield the problem of an option that is a number within bounds."""
    text = function.option(key, str(low))
    number = _parse_int(text)
    if number is None or not low <= number <= high:
        yield Problem(
            field=option_key(function, key),
            value=text,
            message=f"expected a whole number from {low} to {high}",
        )


def name_problems(
    function: ColumnFunction, key: str, fields: Iterable[DataField]
) -> Iterator[Problem]:
    """Yield one problem for every listed name that is no field of the ROW, or is listed twice."""
    known = [field.name for field in fields]
    seen: set[str] = set()
    for name in names(function, key):
        if name not in known:
            yield _name_problem(function, key, name, "the ROW has no such field", known)
        elif name in seen:
            yield _name_problem(function, key, name, "the field is named more than once", known)
        seen.add(name)


def _name_problem(
    function: ColumnFunction, key: str, name: str, message: str, known: Sequence[str]
) -> Problem:
    hint = f"fields: {', '.join(known)}"
    return Problem(field=option_key(function, key), value=name, message=message, hint=hint)


def _lowered(function: ColumnFunction, key: str, default: str) -> str:
    return function.option(key, default).lower()


def _parse_int(text: str) -> int | None:
    found = parse_integer(text)
    return found if found is not None and _INT_MIN <= found <= INT_MAX else None
