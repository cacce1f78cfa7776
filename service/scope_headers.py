"""Headers of an ASGI scope by name, for layers that every request passes."""

from starlette.types import Scope


def header_of(scope: Scope, name: bytes) -> str | None:
    """Return the first header of a name, None without one.

    The framework's class for headers takes several microseconds for this.

    Args:
        scope: Scope of a request; the names of its headers are in lower case.
        name: The name, in lower case.
    """
    for found, value in scope["headers"]:
        if found == name:
            return str(value, "latin-1")
    return None
