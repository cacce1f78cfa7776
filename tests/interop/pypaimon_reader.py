"""Asks pypaimon, Paimon's own Python implementation, what is in a table.

It pins an old pyarrow, so it lives in an environment of its own (`make peer`) and answers through
an Arrow file. It reads no sequence groups and does not compact.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa

PYTHON = Path(__file__).parents[2] / ".venv-pypaimon" / "bin" / "python"

# Runs in the other environment; what it prints goes to the error message only.
_PROGRAM = """\
import sys
import pyarrow as pa
from pypaimon import CatalogFactory

warehouse, identifier, snapshot, out = sys.argv[1:]
table = CatalogFactory.create({"warehouse": warehouse}).get_table(identifier)
if snapshot:
    table = table.copy({"scan.snapshot-id": snapshot})
builder = table.new_read_builder()
rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
with pa.OSFile(out, "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
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
    with tempfile.TemporaryDirectory(prefix="pypaimon-") as folder:
        out = Path(folder) / "rows.arrow"
        arguments = [str(warehouse), identifier, str(snapshot or ""), str(out)]
        run_program(_PROGRAM, *arguments)
        with pa.OSFile(str(out)) as file:
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
