"""Driver of a test, as a program: starts what Kubernetes would start in a pod, lets it run a task in Python, and prints what the task saw.

    python -m tests.support.executor_pod_driver MASTER

The master has no workers, so nothing else can run the task.
"""

import os
import subprocess
import sys

from pyspark.sql import SparkSession

from tests.support.waiting import PATIENCE_S


def main() -> None:
    """Do it."""
    builder = SparkSession.builder.master(sys.argv[1]).config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    context = session.sparkContext
    variables = {
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@127.0.0.1:{context.getConf().get('spark.driver.port')}",
        "SPARK_EXECUTOR_ID": "7",
        "SPARK_EXECUTOR_CORES": "1",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_APPLICATION_ID": context.applicationId,
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_EXECUTOR_POD_NAME": "runner-0-exec-7",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_JAVA_OPT_0": "-XX:TieredStopAtLevel=1",
    }
    command = [sys.executable, "-m", "braid.pipelines.spark.executor_pod", "executor"]
    environment = {**os.environ, **variables}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr
    ) as pod:
        try:
            seen = context.parallelize([0], 1).map(lambda _: os.environ["SPARK_EXECUTOR_POD_NAME"])
            print(seen.collect()[0])
            session.stop()
            print(pod.wait(PATIENCE_S))
        finally:
            pod.kill()


if __name__ == "__main__":
    main()
