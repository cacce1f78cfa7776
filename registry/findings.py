"""Where in a request something is wrong, as a pointer for programs and a path for people."""

from collections.abc import Iterable

from schemas import FieldProblem

Place = tuple[str | int, ...]


def pointer_to(place: Place) -> str:
    """Return the RFC 6901 pointer of a place.

    Example:
        >>> pointer_to(("options", "a/b", 0))
        '/options/a~1b/0'
    """
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in place)
    return "".join(f"/{part}" for part in parts)


def field_at(place: Place) -> str:
    """Return the path of a place as a person writes it.

    Example:
        >>> field_at(("columns", 2, "type"))
        'columns[2].type'
    """
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def found_at(
    *place: str | int, value: object = None, message: str, hint: str | None = None
) -> FieldProblem:
    """Return the problem of one place of the request's body.

    Args:
        *place: Names and indexes from the body's root.
        value: What is there; None when it is missing.
        message: What is wrong and what was expected.
        hint: How to mend it.
    """
    return FieldProblem(
        pointer=pointer_to(place),
        field=field_at(place),
        value=None if value is None else str(value),
        message=message,
        hint=hint,
    )


def listed(names: Iterable[str]) -> str:
    """Return names for a message: "`a`, `b`"; "none" when there are none."""
    return ", ".join(f"`{name}`" for name in names) or "none"
