"""Check of executors before streams start: that they come at all, and have the driver's Python and code.

Tasks that ran on other code would fail in ways that say nothing of the cause, or write what the driver does not
expect.
"""

import logging
import platform
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from braid.lake import InvalidRequest, Problem, StorageUnavailable
from braid.pipelines.spark import executor_probe
from braid.pipelines.spark.executor_probe import code_digest, probe

_LOG = logging.getLogger(__name__)
_ASKED_EVERY_S: Final = 0.2
_TOLD_EVERY: Final = 75
"""Questions between two lines of the log while no executor comes."""
_TASKS_PER_EXECUTOR: Final = 4
"""Spark spreads tasks over the executors that are free, so that several tasks for each reach all of them."""
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]*)"')
_OTHER_PYTHON: Final = re.compile(r"different (?:minor )?version: (\d+\.\d+)")
_HINT: Final = (
    "use the driver's image for executors, or ship the packages: `braid prepare --archive FILE` (again after each update), and --archive FILE "
    "with --python naming the same Python on every machine"
)


def check_executors(session: SparkSession, *, wait_s: float, stop: threading.Event) -> int:
    """Wait for executors, and compare their Python and code with the driver's.

    Args:
        session: A session on a cluster.
        wait_s: Seconds until it is an error that the cluster has given no executor.
        stop: Ends the wait.

    Returns:
        How many executors there are; 0 where the wait was ended.

    Raises:
        StorageUnavailable: The cluster gives no executor.
        InvalidRequest: Executors cannot run the driver's Python code; `problems` says what they have.
    """
    executors = _wait_for_executors(session, wait_s=wait_s, stop=stop)
    if not executors:
        return 0
    register_pickle_by_value(executor_probe)  # type: ignore[no-untyped-call]
    tasks = executors * _TASKS_PER_EXECUTOR
    try:
        numbers = session.sparkContext.parallelize(range(tasks), tasks)
        found = numbers.mapPartitions(probe).collect()
    except Exception as error:
        problem = problem_of_failure(str(error))
        if problem is None or not _is_of_spark(error):
            raise
        raise _refusal([problem]) from error
    problems = differences(found)
    if problems:
        raise _refusal(problems)
    _LOG.info("executors ready executors=%d hosts=%s", executors, sorted(_hosts(found)))
    return executors


def differences(found: Sequence[Mapping[str, str]]) -> list[Problem]:
    """Return in what executors differ from the driver, each difference once.

    Args:
        found: What `probe` has yielded.
    """
    python, code = platform.python_version_tuple()[:2], code_digest()
    problems = {}
    for one in found:
        where = f"{one['executable']} on {one['host']}"
        if tuple(one["python"].split(".")[:2]) != python:
            problems[where] = _python_problem(one["python"], where=where)
        elif one["missing"]:
            problems[where] = Problem(
                field="executors",
                value=one["missing"],
                message=f"{where} lacks these packages",
                hint=_HINT,
            )
        elif one["code"] != code:
            problems[where] = Problem(
                field="executors",
                value=one["code"],
                message=f"{where} has other code of Braid; expected the driver's, {code}",
                hint=_HINT,
            )
    return list(problems.values())


def problem_of_failure(text: str) -> Problem | None:
    """Return why executors have run no Python at all; None: for another reason than their Python.

    >>> found = problem_of_failure('java.io.IOException: Cannot run program "/opt/x/python"')
    >>> found.message, found.value
    ('executors have no such program', '/opt/x/python')
    """
    program = _NO_PROGRAM.search(text)
    if program is not None:
        return Problem(
            field="--python",
            value=program[1],
            message="executors have no such program",
            hint=_HINT,
        )
    other = _OTHER_PYTHON.search(text)
    if other is not None:
        return _python_problem(other[1], where="an executor")
    if "No module named pyspark" in text or "No module named 'pyspark" in text:
        return Problem(
            field="executors",
            value="pyspark",
            message="the executors' Python cannot load Spark's own package",
            hint=_HINT,
        )
    return None


def _python_problem(version: str, *, where: str) -> Problem:
    return Problem(
        field="executors",
        value=version,
        message=f"{where} has another Python; expected {sys.version_info.major}.{sys.version_info.minor}, as the driver",
        hint=_HINT,
    )


def _wait_for_executors(session: SparkSession, *, wait_s: float, stop: threading.Event) -> int:
    """Return how many executors have come; more may come later."""
    context: Any = session.sparkContext._jsc
    for question in range(max(1, int(wait_s / _ASKED_EVERY_S))):
        # The driver is one of them.
        executors = int(context.sc().getExecutorMemoryStatus().size()) - 1
        if executors > 0:
            return executors
        if question and question % _TOLD_EVERY == 0:
            _LOG.warning("waiting for the cluster to start executors")
        if stop.wait(_ASKED_EVERY_S):
            return 0
    message = (
        f"the cluster has started no executor in {wait_s:g} seconds\n"
        "hint: look into the cluster manager's page and the executors' logs: too few free cores or too little memory "
        "(`--cores`, `--conf spark.executor.cores=…`, `--conf spark.executor.memory=…`), or executors that cannot "
        "connect to the driver (`--conf spark.driver.host=…`)"
    )
    raise StorageUnavailable(message)


def _hosts(found: Sequence[Mapping[str, str]]) -> set[str]:
    return {one["host"] for one in found}


def _is_of_spark(error: Exception) -> bool:
    return isinstance(error, PySparkException) or type(error).__module__.startswith("py4j")


def _refusal(problems: Sequence[Problem]) -> InvalidRequest:
    message = "executors cannot run the tasks of this driver"
    return InvalidRequest(message, problems=list(problems))
