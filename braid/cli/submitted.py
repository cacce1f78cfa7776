"""Check for `spark-submit` as the starter of this process; loads nothing of Spark."""

import os
from collections.abc import Mapping


def is_submitted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether `spark-submit` has started this process, and so has chosen master and driver.

    >>> is_submitted({"PYSPARK_GATEWAY_PORT": "40001"}), is_submitted({})
    (True, False)
    """
    return "PYSPARK_GATEWAY_PORT" in environment
