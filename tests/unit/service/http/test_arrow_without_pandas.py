"""Arrow does not import pandas in the service; those who import it themselves get it."""

import subprocess
import sys

PROGRAM = """
import sys
import pyarrow as pa
from braid.service.http.arrow_without_pandas import keep_pandas_out_of_arrow

{before}
keep_pandas_out_of_arrow()
pa.array([1])
print("pandas" in sys.modules)
print(len(pa.table({{"a": [1, 2]}}).to_pandas()))
import pandas
print(pa.array(pandas.Series([1, 2])).to_pylist())
"""


def lines_of(before: str) -> list[str]:
    """Return what a new process prints: in this one Arrow may have asked for pandas already."""
    program = [sys.executable, "-c", PROGRAM.format(before=before)]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()


def test_arrow_does_not_import_pandas_unless_it_is_told_to() -> None:
    """Nor does a module of the service when it is imported: Arrow asks only once."""
    assert lines_of(before="import braid.service.server") == ["False", "2", "[1, 2]"]


def test_pandas_that_is_loaded_stays() -> None:
    assert lines_of(before="import pandas") == ["True", "2", "[1, 2]"]
