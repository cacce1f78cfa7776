"""Loading of users' aggregate functions, which packages provide as entry points of the group `braid.aggregates`.

The name of a user's function has a dot, `<namespace>.<function>`. No function of the format has a dot in its name. So
every other engine refuses to merge such a table because the function is unknown, and no engine mistakes it for a
function of its own.

Entry points are looked up once in a process, at the first use. Packages have to be installed wherever the table is
merged: in writers, readers and compactions.
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.merge.aggregate_function import FunctionDeclaration, FunctionOption
from braid.lake.merge.compatibility import Compatibility

GROUP = "braid.aggregates"
_CALLED: Final = ("accepts", "make", "reduction", "problems")
_LISTED: Final[Mapping[str, type]] = {
    "options": FunctionOption,
    "aliases": str,
    "anomalies": str,
    "differences": Compatibility,
}


def is_user_function_name(name: str) -> bool:
    """Return whether a function of that name is a user's function, not one of the format."""
    return "." in name


def user_function(name: str) -> FunctionDeclaration | None:
    """Return the installed function of that name; None when no package provides it.

    Raises:
        UnsupportedFeature: A package provides the function, but the function cannot be loaded, is
            not a declaration, has another name or invalid attributes; or several packages provide
            the function.
    """
    # Only installed names are cached: others come from requests, and would fill the cache.
    return _load_user_function(name) if name in _installed() else None


def reset_installed_functions() -> None:
    """Clear the caches, so that installed packages are searched again."""
    _installed.cache_clear()
    _load_user_function.cache_clear()


@cache
def _installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.value):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


@cache
def _load_user_function(name: str) -> FunctionDeclaration:
    match _installed()[name]:
        case (point,):
            return _declaration(point)
        case found:
            sources = ", ".join(point.value for point in found)
            raise _refused(name, f"several packages provide it: {sources}", "uninstall all but one")


def is_misnamed(name: str) -> bool:
    """Return whether a package provides a function of that name without the dot that it needs."""
    return not is_user_function_name(name) and name in _installed()


def user_function_names() -> tuple[str, ...]:
    """Return the names of all installed functions that have a dot, ascending; none of them is loaded."""
    return tuple(sorted(name for name in _installed() if is_user_function_name(name)))


def _declaration(point: EntryPoint) -> FunctionDeclaration:
    try:
        loaded = point.load()
    except Exception as error:
        text = f"`{point.value}` cannot be loaded: {type(error).__name__}: {error}"
        raise _refused(point.name, text, "import it in Python to see the whole error") from error
    if not isinstance(loaded, FunctionDeclaration):
        text = f"`{point.value}` is a {type(loaded).__name__}, not a FunctionDeclaration"
        raise _refused(point.name, text, "name the declaration itself in the entry point")
    if loaded.name != point.name:
        text = f"`{point.value}` declares the name {loaded.name}"
        raise _refused(point.name, text, "give entry point and declaration the same name")
    faults = [fault for fault in map(partial(_fault, loaded), fields(loaded)) if fault is not None]
    if faults:
        text = f"`{point.value}` declares {'; '.join(faults)}"
        raise _refused(point.name, text, "leave out what is optional, or declare it as documented")
    return loaded


def _fault(declaration: FunctionDeclaration, part: Field[object]) -> str | None:
    """Return what is wrong with one attribute of a declaration; None when it is valid."""
    value = getattr(declaration, part.name)
    if part.name in _CALLED:
        return None if callable(value) else f"`{part.name}` as {value!r}, not a function"
    if part.name in _LISTED:
        kind = _LISTED[part.name]
        is_list = isinstance(value, tuple) and all(isinstance(each, kind) for each in value)
        return None if is_list else f"`{part.name}` as {value!r}, not a tuple of {kind.__name__}"
    if part.name == "unfit":
        is_right = value is None or callable(value)
        return None if is_right else f"`unfit` as {value!r}, neither a function nor None"
    if part.name in ("order_free", "stores_unfit"):
        return None if isinstance(value, bool) else f"`{part.name}` as {value!r}, not True or False"
    is_text = isinstance(value, str) or (part.name == "retract_rule" and value is None)
    return None if is_text else f"`{part.name}` as {value!r}, not text"


def _refused(name: str, message: str, hint: str) -> UnsupportedFeature:
    problem = Problem(field=f"entry point group {GROUP}", value=name, message=message, hint=hint)
    text = f"the aggregate function {name} is installed, but cannot be used"
    return UnsupportedFeature(text, problems=[problem])
