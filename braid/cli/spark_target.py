"""Target of a Spark session from the options of a command: `--master` and those that go with it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from braid.cli.arguments import one_line_errors, refuse
from braid.cli.submitted import is_submitted
from braid.pipelines.spark.target import SparkTarget, check_target


def spark_target(
    *,
    warehouse: str,
    master: str | None = None,
    conf: Sequence[str] = (),
    python: str | None = None,
    archive: Path | None = None,
    executor_env: Sequence[str] = (),
    is_warehouse_shared: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> SparkTarget:
    """Return the target that the options name; exit with one line when they are invalid.

    Args:
        warehouse: Absolute path or address of the warehouse.
        master: Value of `--master`.
        conf: Values of `--conf`.
        python: Value of `--python`.
        archive: Value of `--archive`.
        executor_env: Values of `--executor-env`.
        is_warehouse_shared: Whether `--shared-warehouse` is given.
        environment: Variables of this process.
    """
    target = SparkTarget(
        master=None if master == "local" else master,
        conf=dict(_setting(text) for text in conf),
        python=python,
        archive=archive,
        executor_env={name: _variable(name, environment) for name in executor_env},
        is_submitted=is_submitted(environment),
        is_warehouse_shared=is_warehouse_shared,
    )
    with one_line_errors():
        check_target(target, warehouse=warehouse, environment=environment)
    return target


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        refuse("--conf", text, "expected spark.….=…, such as spark.executor.memory=2g")
    return key, value


def _variable(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if value is None:
        refuse("--executor-env", name, "expected a variable that is set for this process")
    return value
