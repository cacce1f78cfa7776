"""Entry point of executor pods on Kubernetes, as a program: it becomes the JVM that Spark's environment variables describe.

    python -m braid.pipelines.spark.executor_pod executor

Spark's own images have a shell script for this. With this one, the image of runners is that of executors, too.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from braid.pipelines.spark.java import java_executable

_MAIN: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTIONS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_JAVA_OPTION: Final = "SPARK_JAVA_OPT_"
"""Options of the JVM have this prefix and a number, by which they are in order."""


def executor_command(environment: Mapping[str, str], *, java: str, spark: Path) -> list[str]:
    """Return the command of an executor's JVM.

    Args:
        environment: The variables that Spark's driver gives to an executor's container.
        java: The program.
        spark: Spark's folder, with `jars`.

    Raises:
        SystemExit: Variables are missing: Spark has not started this container.
    """
    needed = (*_OPTIONS.values(), "SPARK_EXECUTOR_MEMORY")
    missing = [name for name in needed if name not in environment]
    if missing:
        message = (
            f"these variables are missing: {', '.join(missing)}\n"
            "hint: this is the command of the containers that Spark starts on Kubernetes"
        )
        raise SystemExit(message)
    numbered = {
        int(name.removeprefix(_JAVA_OPTION)): value
        for name, value in environment.items()
        if name.startswith(_JAVA_OPTION)
    }
    # Before Spark's jars: the folder of the driver's settings, and what `spark.executor.extraClassPath` names.
    before = [environment.get(name, "") for name in ("SPARK_CONF_DIR", "SPARK_CLASSPATH")]
    path = [*filter(None, before), f"{spark}/jars/*"]
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    options = [word for option, name in _OPTIONS.items() for word in (option, environment[name])]
    return [
        java,
        *(numbered[number] for number in sorted(numbered)),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        *("-cp", os.pathsep.join(path), _MAIN),
        *options,
    ]


def main() -> None:
    """Become the JVM."""
    found = find_spec("pyspark")
    assert found is not None, "the extra `spark` has it"
    assert found.origin is not None, "it is a package of files"
    spark = Path(found.origin).parent
    environment = {**os.environ, "SPARK_HOME": str(spark)}
    command = executor_command(environment, java=str(java_executable()), spark=spark)
    os.execve(command[0], command, environment)  # noqa: S606 - it becomes the JVM


if __name__ == "__main__":
    main()
