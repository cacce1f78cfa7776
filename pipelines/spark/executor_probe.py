"""Probe of an executor: which Python and which code of Braid it has.

The driver sends this module by value, so it runs on executors that have another Braid, or none. It therefore imports
nothing but the standard library.
"""

import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

PACKAGE: Final = "braid"


def probe(_: Iterable[int]) -> Iterator[dict[str, str]]:
    """Yield what the Python worker of a task has; called by `mapPartitions`."""
    missing = [name for name in (PACKAGE, "pyarrow", "numpy", "obstore") if not _is_found(name)]
    yield {
        "host": platform.node(),
        "executable": sys.executable,
        "python": platform.python_version(),
        "code": code_digest(),
        "missing": ", ".join(missing),
    }


def code_digest() -> str:
    """Return a hash of the source files of the package that this Python would import; empty if it has none."""
    spec = importlib.util.find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec is not None else None
    if not places:
        return ""
    digest = hashlib.sha256()
    for name, path in source_files(Path(next(iter(places)))):
        digest.update(f"{name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(root: Path) -> list[tuple[str, Path]]:
    """Return the Python files of a package by their path in it, sorted; in a checkout its folders are links."""
    found = []
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            if name.endswith(".py"):
                path = Path(folder, name)
                found.append((path.relative_to(root).as_posix(), path))
    return sorted(found)


def _is_found(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
