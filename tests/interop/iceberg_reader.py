"""Asks pyiceberg what is in a table, by the table's Iceberg metadata.

It is installed in a folder of its own (`make peer`) and runs in a process of its own, which takes a second to start:
so several questions are asked at once.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

PACKAGES: Final = Path(__file__).parents[2] / ".pyiceberg"
_PROGRAM: Final = Path(__file__).with_name("iceberg_program.py")


class PyicebergFailed(AssertionError):
    """pyiceberg refused: in a test that is a verdict on the metadata it was shown."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to read.

    Attributes:
        directory: Of the metadata.
        tag: The state of a tag; None for the newest.
        snapshot: The state of a snapshot; None for the newest.
        row_filter: Rows to read, as pyiceberg's text.
    """

    directory: str
    tag: str | None = None
    snapshot: int | None = None
    row_filter: str | None = None


def ask(questions: Sequence[Question]) -> list[pa.Table]:
    """Return the rows that each question asks for.

    Raises:
        PyicebergFailed: It is not there, or cannot read one.
    """
    if not PACKAGES.exists():
        raise PyicebergFailed(f"{PACKAGES}: found nothing, expected pyiceberg\nhint: make peer")
    with tempfile.TemporaryDirectory() as folder:
        asked = json.dumps([asdict(question) for question in questions])
        done = subprocess.run(
            [sys.executable, _PROGRAM, folder, asked],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PyicebergFailed(done.stderr[-4000:])
        return [_answer(Path(folder), number) for number in range(len(questions))]


def _answer(folder: Path, number: int) -> pa.Table:
    refusal = folder / f"{number}.txt"
    if refusal.exists():
        raise PyicebergFailed(f"question {number}: {refusal.read_text()[-4000:]}")
    with pa.OSFile(str(folder / f"{number}.arrow")) as source:
        return pa.ipc.open_file(source).read_all()
