"""All aggregate functions by name: those of the format, and users' functions."""

from itertools import chain

from braid.lake.merge.aggregate_function import FunctionDeclaration
from braid.lake.merge.functions import (
    arithmetic,
    extremes,
    first_and_last,
    lists,
    logic,
    maps,
    nested_rows,
    text,
)
from braid.lake.merge.functions.extension import (
    is_user_function_name,
    user_function,
    user_function_names,
)
from braid.lake.merge.functions.sets import bitmaps, sketches

_FAMILIES = (
    arithmetic,
    extremes,
    first_and_last,
    logic,
    text,
    lists,
    maps,
    nested_rows,
    bitmaps,
    sketches,
)

FUNCTIONS: dict[str, FunctionDeclaration] = {
    declaration.name: declaration
    for declaration in chain.from_iterable(family.DECLARATIONS for family in _FAMILIES)
}
"""The functions of the format by name, without aliases; families one after another."""

_ALIASES = {
    alias: declaration for declaration in FUNCTIONS.values() for alias in declaration.aliases
}


def function_names() -> tuple[str, ...]:
    """Return the names of the format's functions, families one after another, and then of users' functions that are installed."""
    return (*FUNCTIONS, *user_function_names())


def function_named(name: str) -> FunctionDeclaration | None:
    """Return the function that options call by a name; None when there is none.

    Raises:
        UnsupportedFeature: The name is that of a user's function that cannot be loaded from its
            package.
    """
    if is_user_function_name(name):
        return user_function(name)
    return FUNCTIONS.get(name) or _ALIASES.get(name)
