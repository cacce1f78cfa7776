"""The command of an executor's JVM follows from the variables that Spark gives to containers on Kubernetes."""

from pathlib import Path

import pytest

from braid.pipelines.spark.executor_pod import executor_command

VARIABLES = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "braid-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    "SPARK_CLASSPATH": "",
    "SPARK_JAVA_OPT_10": "-Dlast=1",
    "SPARK_JAVA_OPT_9": "-Dspark.driver.port=7078",
    "PATH": "/bin",
}


def test_options_of_the_jvm_come_in_the_order_of_their_numbers_and_before_the_class() -> None:
    command = executor_command(VARIABLES, java="/bin/java", spark=Path("/spark"))

    assert command[:5] == [
        "/bin/java",
        "-Dspark.driver.port=7078",
        "-Dlast=1",
        "-Xms1024m",
        "-Xmx1024m",
    ]
    assert command[5:7] == ["-cp", "/opt/spark/conf:/spark/jars/*"]
    options = dict(zip(command[8::2], command[9::2], strict=True))
    assert options["--driver-url"] == VARIABLES["SPARK_DRIVER_URL"]
    assert options["--podName"] == "braid-exec-3"
    assert len(options) == 7


def test_jars_that_a_setting_names_come_before_those_of_spark() -> None:
    variables = {**VARIABLES, "SPARK_CLASSPATH": "/jars/kafka.jar"}

    command = executor_command(variables, java="java", spark=Path("/spark"))

    assert "/opt/spark/conf:/jars/kafka.jar:/spark/jars/*" in command


def test_what_spark_has_not_started_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"SPARK_DRIVER_URL, .*\nhint: .* that Spark starts"):
        executor_command({"PATH": "/bin"}, java="java", spark=Path("/spark"))
