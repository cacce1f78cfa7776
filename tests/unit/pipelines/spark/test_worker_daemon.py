"""Workers that are forked from a process with loaded packages work as those that load them themselves."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from braid.pipelines.spark.target import WORKER_DAEMON

# Of a process of its own: this one has threads, and a forked child must not go on with the tests.
_FORKED = """\
import os, sys, threading
from pathlib import Path
from braid.pipelines.spark.worker_daemon import load

load()
assert threading.active_count() == 1, threading.enumerate()
names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
assert len([name for name in names if "jemalloc" not in name]) == 1, names

child = os.fork()
if child == 0:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    pool = pa.jemalloc_memory_pool() if "jemalloc" in pa.supported_memory_backends() else None
    values = pa.array(np.arange(1_000_000), memory_pool=pool)
    table = pa.table({str(n): pc.multiply(values, n, memory_pool=pool) for n in range(8)})
    pq.write_table(table, sys.argv[1])
    read = pq.read_table(sys.argv[1], use_threads=True)
    a = np.ones((300, 300))
    os._exit(0 if read.equals(table) and (a @ a)[0, 0] == 300 else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), "braid.pipelines.sink.write_task" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="threads of a process are listed in /proc")
def test_a_forked_worker_computes_with_what_its_parent_has_loaded(
    tmp_path: os.PathLike[str],
) -> None:
    command = [sys.executable, "-c", _FORKED, f"{os.fspath(tmp_path)}/values.parquet"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert (ended.stdout, ended.stderr) == ("0 True\n", "")


def test_the_module_is_where_spark_is_told_to_find_it() -> None:
    assert find_spec(WORKER_DAEMON)
