"""Import of pandas by Arrow, which the service prevents because it needs no pandas.

pyarrow imports pandas, if it is installed, before it makes the first array from Python values, and asks only once. In the
midst of requests this would stop all threads for half a second, and 45 MB would stay in memory for good. PySpark needs pandas,
so it is installed wherever streams run, too.
"""

import sys

import pyarrow as pa


def keep_pandas_out_of_arrow() -> None:
    """Let Arrow ask for pandas now, and find none; no effect if pandas is loaded, or if Arrow has asked before.

    Other imports of pandas still find it, and so does `to_pandas` of Arrow.
    """
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """Finder of modules for which pandas is not installed."""

    @staticmethod
    def find_spec(name: str, _path: object, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)
