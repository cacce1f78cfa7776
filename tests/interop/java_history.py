"""A table of some snapshots that Java wrote and compacted, for both sides to work on."""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tests.interop.java_driver import JavaDriver

CASE: dict[str, Any] = {
    "id": "history",
    "schema": {
        "columns": [
            {"name": "p", "type": "STRING NOT NULL"},
            {"name": "k", "type": "INT NOT NULL"},
            {"name": "v", "type": "INT"},
        ],
        "primary_key": ["p", "k"],
        "partition": ["p"],
    },
}


def write_history(
    java: JavaDriver, path: Path, options: Mapping[str, str], *, tagged: Collection[int] = ()
) -> None:
    """Create a table and have Java write, delete and compact: nine snapshots or more.

    Args:
        java: The writer.
        path: Of the table, where none is yet.
        options: Beside two buckets and `write-only`.
        tagged: Writes, counted from 0, after which there is a tag `after-<number>`.
    """
    options = {"bucket": "2", "write-only": "true", **options}
    java.do("create", path, case={**CASE, "options": options})
    for number in range(8):
        rows = [["+I", f"p{k % 3}", k, number] for k in range(number % 4, 9, 1 + number % 2)]
        if number == 5:
            rows += [["-D", "p0", 3, 5]]
        java.write(path, rows)
        if number in (2, 4, 6):
            java.do("compact", path, mode="full" if number == 4 else "normal")
        if number in tagged:
            java.do("tag", path, name=f"after-{number}")


def copies(original: Path, work: Path) -> tuple[Path, Path]:
    """Return a copy for Java and one for us."""
    found = work / "java" / "db.db" / "t", work / "ours" / "db.db" / "t"
    for path in found:
        shutil.copytree(original, path)
    return found
