"""A target becomes Spark's configuration, and what cannot work is refused before Spark starts."""

import re
from pathlib import Path
from typing import Any

import pytest

from braid.lake import InvalidRequest
from braid.pipelines.spark.target import (
    OWNED,
    REDACTED,
    WORKER_DAEMON,
    SessionPlan,
    SparkTarget,
    check_target,
    check_warehouse,
    plan_session,
)

STORE = "s3://bucket/warehouse"
CLUSTER = "spark://host:7077"
JARS = [Path("/jars/a.jar"), Path("/jars/b.jar")]


def plan(target: SparkTarget, *, cores: int = 4) -> SessionPlan:
    return plan_session(
        target,
        cores=cores,
        memory="1g",
        jars=JARS,
        settings={"spark.app.name": "x", "spark.ui.enabled": "false"},
        default_python="/here/python",
        archived_python="python3.12",
    )


def test_local_tasks_run_in_the_drivers_jvm_with_its_python() -> None:
    found = plan(SparkTarget(conf={"spark.ui.enabled": "true"}))

    assert found.conf["spark.master"] == "local[4]"
    assert found.conf["spark.python.daemon.module"] == WORKER_DAEMON
    assert found.conf["spark.driver.host"] == "127.0.0.1"
    assert found.conf["spark.ui.enabled"] == "true"
    assert "spark.jars" not in found.conf
    assert found.python == "/here/python"


@pytest.mark.parametrize(
    ("conf", "executors"),
    [
        ({}, "4"),
        ({"spark.executor.cores": "3"}, "2"),
        ({"spark.executor.instances": "7"}, "7"),
    ],
)
def test_executors_follow_from_the_cores(conf: dict[str, str], executors: str) -> None:
    found = plan(SparkTarget(master=CLUSTER, conf=conf)).conf

    assert found["spark.executor.instances"] == executors
    assert found["spark.cores.max"] == "4"


def test_only_a_standalone_master_bounds_the_cores() -> None:
    assert "spark.cores.max" not in plan(SparkTarget(master="yarn")).conf


def test_executors_get_jars_and_archive() -> None:
    target = SparkTarget(
        master=CLUSTER, archive=Path("/a/env.tar.gz"), conf={"spark.jars": "/own.jar"}
    )
    found = plan(target)

    assert found.conf["spark.jars"] == "/own.jar,/jars/a.jar,/jars/b.jar"
    assert found.conf["spark.archives"] == "/a/env.tar.gz#environment"
    assert found.conf["spark.executorEnv.PYTHONPATH"] == "environment"
    assert found.conf["spark.python.daemon.module"] == WORKER_DAEMON
    assert found.python == "python3.12"
    assert "spark.driver.host" not in found.conf


def test_workers_of_an_image_are_forked_by_sparks_own_daemon() -> None:
    assert "spark.python.daemon.module" not in plan(SparkTarget(master=CLUSTER)).conf


def test_the_python_that_is_named_is_used() -> None:
    target = SparkTarget(master="yarn", archive=Path("/a/env.tar.gz"), python="/opt/python")

    assert plan(target).python == "/opt/python"


def test_variables_of_executors_are_never_among_settings_that_are_shown() -> None:
    target = SparkTarget(master=CLUSTER, executor_env={"AWS_SECRET_ACCESS_KEY": "s3cr3t"})
    found = plan(target)

    assert found.secret_conf == {"spark.executorEnv.AWS_SECRET_ACCESS_KEY": "s3cr3t"}
    assert "s3cr3t" not in str(found)
    assert "s3cr3t" not in str(target)


def test_a_submitted_application_keeps_its_master_and_driver() -> None:
    found = plan(SparkTarget(is_submitted=True))

    assert not {"spark.master", "spark.driver.memory", "spark.driver.host"} & found.conf.keys()
    assert found.python is None


@pytest.mark.parametrize(
    "name",
    [
        "spark.executorEnv.ANY",
        "kafka.sasl.jaas.config",
        "kafka.ssl.keystore.key",
        "AWS_ACCESS_KEY_ID",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "BRAID_TOKEN",
        "sasl.oauthbearer.client.secret",
    ],
)
def test_what_may_be_secret_is_redacted(name: str) -> None:
    assert re.search(REDACTED, name)


@pytest.mark.parametrize("key", sorted(OWNED))
def test_settings_of_our_own_are_refused(key: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(key)) as caught:
        check_target(SparkTarget(conf={key: "x"}), warehouse="/w")

    assert caught.value.problems[0].hint == OWNED[key]


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"master": "mesos://host"}, "--master", "expected spark://"),
        ({"master": "spark://host"}, "--master", "expected spark://host:port"),
        ({"master": "spark://a:1,b"}, "--master", "expected spark://host:port"),
        ({"master": "yarn"}, "--master", "neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"),
        ({"master": CLUSTER, "archive": Path("/nowhere.tar.gz")}, "--archive", "no such file"),
        ({"master": CLUSTER, "archive": Path(__file__)}, "--archive", "is no archive"),
        ({"conf": {"spark.executor.cores": "two"}}, "--conf spark.executor.cores", "number"),
        ({"archive": Path("/a.tar.gz")}, "--archive", "local tasks"),
        ({"python": "/python"}, "--python", "local tasks"),
        ({"executor_env": {"A": "b"}}, "--executor-env", "local tasks"),
        ({"is_warehouse_shared": True}, "--shared-warehouse", "local tasks"),
        ({"is_submitted": True, "master": CLUSTER}, "--master", "spark-submit has started"),
        ({"is_submitted": True, "conf": {"spark.x": "y"}}, "--conf", "spark-submit has started"),
    ],
)
def test_a_target_that_cannot_work_is_refused(given: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(text)) as caught:
        check_target(SparkTarget(**given), warehouse=STORE, environment={})

    assert [problem.field for problem in caught.value.problems] == [field]


@pytest.mark.parametrize(
    "master", [CLUSTER, "spark://a:7077,[::1]:7078", "yarn", "k8s://https://host:6443"]
)
def test_executors_elsewhere_need_a_warehouse_that_they_reach(master: str) -> None:
    folder, environment = "/data/warehouse", {"HADOOP_CONF_DIR": "/etc/hadoop"}
    target, shared = (SparkTarget(master=master, is_warehouse_shared=is_) for is_ in (False, True))
    with pytest.raises(InvalidRequest, match="--shared-warehouse"):
        check_target(target, warehouse=folder, environment=environment)

    check_target(target, warehouse=STORE, environment=environment)
    check_target(shared, warehouse=folder, environment=environment)


def test_a_submitted_application_is_checked_once_its_master_is_known() -> None:
    check_target(SparkTarget(is_submitted=True), warehouse="/data/warehouse")

    with pytest.raises(InvalidRequest, match="--shared-warehouse"):
        check_warehouse("/data/warehouse", is_shared=False)
    check_warehouse("/data/warehouse", is_shared=True)
