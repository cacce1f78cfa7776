"""Asks pypaimon, Paimon's own Python implementation, what is in a table.

It pins an old pyarrow, so it lives in an environment of its own (`make peer`) and answers through
Arrow files. Its own reader takes no sequence groups; its Rust core does (`NATIVE`). It does not compact.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

PYTHON = Path(__file__).parents[2] / ".venv-pypaimon" / "bin" / "python"

NATIVE: Final = {"scan.native-plan.enabled": "true", "read.native.enabled": "true"}
"""Options with which its Rust core plans and reads."""

# Runs in the other environment; what it prints goes to the error message only.
_PROGRAM = """\
import json
import sys
import pyarrow as pa
from pypaimon import CatalogFactory

warehouse, folder, questions = sys.argv[1:]
catalog = CatalogFactory.create({"warehouse": warehouse})
for number, (identifier, options) in enumerate(json.loads(questions)):
    try:
        table = catalog.get_table(identifier)
        if options:
            table = table.copy(options)
        builder = table.new_read_builder()
        rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    except Exception as error:
        with open(f"{folder}/{number}.txt", "w") as file:
            file.write(f"{type(error).__name__}: {error}")
        continue
    with pa.OSFile(f"{folder}/{number}.arrow", "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
"""


class PypaimonFailed(AssertionError):
    """pypaimon refused: in a test that is a verdict on the table it was shown."""


def read_table(warehouse: Path, identifier: str, *, snapshot: int | None = None) -> pa.Table:
    """Return the rows of `<warehouse>/<database>.db/<table>`.

    Args:
        warehouse: The folder that holds the databases.
        identifier: `database.table`.
        snapshot: Default the latest.
    """
    options = {} if snapshot is None else {"scan.snapshot-id": str(snapshot)}
    [found] = read_tables(warehouse, [(identifier, options)])
    if isinstance(found, str):
        raise PypaimonFailed(f"{identifier}: {found}")
    return found


def read_tables(
    warehouse: Path, questions: Sequence[tuple[str, Mapping[str, str]]]
) -> list[pa.Table | str]:
    """Return the rows of many tables, or what reading one raised, in one process.

    Args:
        warehouse: The folder that holds the databases.
        questions: `database.table` and the options of each reading.
    """
    with tempfile.TemporaryDirectory(prefix="pypaimon-") as folder:
        run_program(_PROGRAM, str(warehouse), folder, json.dumps(questions))
        return [_answer(Path(folder), number) for number in range(len(questions))]


def _answer(folder: Path, number: int) -> pa.Table | str:
    refused = folder / f"{number}.txt"
    if refused.exists():
        return refused.read_text(encoding="utf-8")
    with pa.OSFile(str(folder / f"{number}.arrow")) as file:
        return pa.ipc.open_file(file).read_all()


def run_program(program: str, *arguments: str) -> str:
    """Run a Python program in pypaimon's environment and return what it printed."""
    if not PYTHON.exists():
        raise PypaimonFailed(f"{PYTHON}: found nothing, expected pypaimon\nhint: make peer")
    # A variable that leads Python to this project's packages would lead it to the wrong pyarrow.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run(
        [PYTHON, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise PypaimonFailed(f"{arguments}: exit {ran.returncode}\n{ran.stderr[-4000:]}")
    return ran.stdout
