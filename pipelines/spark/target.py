"""Target of a Spark session: threads of this process's JVM, a cluster manager, or the application of `spark-submit`.

`plan_session` turns a target into Spark's configuration. It is pure; `session` starts Spark by it.

| target | tasks run in | executors' Python |
|---|---|---|
| local (no master) | the driver's JVM | the driver's, with its import path |
| `spark://…`, `yarn`, `k8s://…` | executors of the cluster | `python`, with the packages of the archive if there is one |
| submitted | where the options of `spark-submit` say | as these options say |

The operator passes further settings of Spark as they are, except those that Braid sets: each of them is refused with
the option that sets it.
"""

import os
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from braid.lake import InvalidRequest, Problem

ENVIRONMENT: Final = "environment"
"""Name under which executors see the unpacked archive, in their working directory."""

WORKER_DAEMON: Final = "braid.pipelines.spark.worker_daemon"
"""Module that executors fork their Python workers from, where the packages are the driver's."""

MASTERS: Final = ("local", "spark://", "yarn", "k8s://")
_STANDALONE: Final = re.compile(r"spark://[^\s,/]+:\d+(,[^\s,/]+:\d+)*")
"""A standalone cluster; of several masters one is active."""
_YARN_SETTINGS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_EXECUTOR_CORES: Final = "spark.executor.cores"
_EXECUTORS: Final = "spark.executor.instances"
_DAEMON: Final = "spark.python.daemon.module"
_ENVIRONMENT_PREFIX: Final = "spark.executorEnv."

# What Spark redacts in its pages, its event log and its plans, by name or by value. Logins of Kafka have more names
# than Spark's own expression knows.
REDACTED: Final = (
    "(?i)secret|passw(or)?d|token|credential|access[._-]?key|api[._-]?key|account[._-]?key|jaas|sasl"
    "|[.]ssl[.]|keystore|truststore|bearer|spark[.]executorEnv[.]"
)

OWNED: Final[Mapping[str, str]] = {
    "spark.app.name": "`--name` sets it",
    "spark.master": "`--master` sets it",
    "spark.submit.deployMode": "the driver is this process; use spark-submit for another one",
    "spark.driver.memory": "`--memory` sets it",
    "spark.cores.max": "`--cores` sets it",
    "spark.archives": "`--archive` sets it",
    "spark.pyspark.python": "`--python` sets it",
    "spark.pyspark.driver.python": "the driver's Python is the one that runs this command",
    f"{_ENVIRONMENT_PREFIX}PYTHONPATH": "`--archive` sets it",
    "spark.scheduler.mode": "streams share the cores by it",
    "spark.sql.caseSensitive": "names of columns are case-sensitive",
    "spark.sql.session.timeZone": "times are in UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "tasks exchange Arrow batches",
    "spark.sql.streaming.checkpointLocation": "each query has a checkpoint of its own, on the driver's disk",
    "spark.redaction.regex": "it keeps secrets out of Spark's pages and event log",
    "spark.sql.redaction.options.regex": "it keeps secrets out of Spark's plans",
}
"""Settings that Braid sets, and why or by which option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTarget:
    """Where the tasks of a session run.

    Attributes:
        master: Address of the cluster manager: `spark://host:port`, `yarn` or `k8s://…`; None: this machine.
        conf: Further settings of Spark, by its own names.
        python: Python of the executors, as a path there or a name in their `PATH`; None: by default
            `default_python`.
        archive: Archive of the packages that executors need (`environment_archive`); None: they have them.
        executor_env: Variables that executors get, by name; their values may be secrets.
        is_submitted: Whether `spark-submit` has started this process, and so has chosen master and driver.
        is_warehouse_shared: Whether a folder as warehouse is the same for driver and executors.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    archive: Path | None = None
    executor_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_submitted: bool = False
    is_warehouse_shared: bool = False

    @property
    def is_local(self) -> bool:
        """Whether tasks run on this machine, in a JVM that this process starts."""
        return not self.is_submitted and self.master is None


LOCAL: Final = SparkTarget()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """Configuration of a session.

    Attributes:
        conf: Settings that may be shown.
        secret_conf: Settings whose values may be secrets; never on a command line.
        python: What Spark starts as the workers' Python; None: what the environment says.
    """

    conf: Mapping[str, str]
    secret_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    python: str | None = None


def check_target(
    target: SparkTarget, *, warehouse: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Refuse a target that cannot work.

    Args:
        target: The target.
        warehouse: Absolute path or address of the warehouse.
        environment: Variables of this process.

    Raises:
        InvalidRequest: Its master is of an unknown kind or cannot be found, a setting is one of Braid's own, an option
            has no meaning for the target, the archive cannot be read, or executors elsewhere would not reach the
            warehouse.
    """
    problems = [*_problems_of_conf(target), *_problems_of_kind(target, warehouse, environment)]
    if problems:
        message = "the target of the Spark session is not valid"
        raise InvalidRequest(message, problems=problems)


def check_warehouse(warehouse: str, *, is_shared: bool) -> None:
    """Refuse a warehouse that executors elsewhere would not reach.

    Args:
        warehouse: Absolute path or address.
        is_shared: Whether a folder is the same for driver and executors.

    Raises:
        InvalidRequest: It is a folder of this machine.
    """
    problems = _problems_of_warehouse(warehouse, is_shared=is_shared)
    if problems:
        message = "executors do not reach the warehouse"
        raise InvalidRequest(message, problems=problems)


def plan_session(
    target: SparkTarget,
    *,
    cores: int,
    memory: str,
    jars: Sequence[Path],
    settings: Mapping[str, str],
    default_python: str,
    archived_python: str,
) -> SessionPlan:
    """Return the configuration of a session that this process starts, or that `spark-submit` has started for it.

    Args:
        target: The target, as `check_target` accepts it.
        cores: Tasks that run at once.
        memory: Heap of the driver's JVM, as Spark writes it.
        jars: Jars of the driver's class path; executors of a cluster get them too.
        settings: What every session of Braid has; settings of the target take precedence.
        default_python: Python of executors that have their packages, and of local tasks.
        archived_python: Python of executors that get their packages with the archive.
    """
    common = {
        "spark.driver.memory": memory,
        # 200, the default, costs seconds a batch on a few cores.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.redaction.regex": REDACTED,
        "spark.sql.redaction.options.regex": f"{REDACTED}|url",
        **settings,
    }
    if target.is_submitted:
        del common["spark.driver.memory"]
        return SessionPlan(conf=common)
    if target.master is None:
        local = {
            "spark.master": f"local[{cores}]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            _DAEMON: WORKER_DAEMON,
        }
        return SessionPlan(conf={**local, **common, **target.conf}, python=default_python)
    conf = {**common, **_cluster_conf(target, cores=cores, jars=jars)}
    secret = {f"{_ENVIRONMENT_PREFIX}{name}": value for name, value in target.executor_env.items()}
    python = archived_python if target.archive is not None else default_python
    return SessionPlan(conf=conf, secret_conf=secret, python=target.python or python)


def is_remote(master: str | None) -> bool:
    """Return whether a master, as Spark's context names it, is a cluster, and not threads of the driver.

    >>> [is_remote(master) for master in ("local[2]", "spark://host:7077", "yarn")]
    [False, True, True]
    """
    return master is not None and not master.startswith("local")


def _cluster_conf(target: SparkTarget, *, cores: int, jars: Sequence[Path]) -> dict[str, str]:
    assert target.master is not None, "of a cluster"
    conf = {_EXECUTOR_CORES: "1", **target.conf}
    executors = -(-cores // int(conf[_EXECUTOR_CORES]))
    conf = {"spark.master": target.master, _EXECUTORS: str(executors), **conf}
    if target.master.startswith("spark://"):
        # Elsewhere the number of executors is the bound.
        conf["spark.cores.max"] = str(cores)
    shipped = [*filter(None, [conf.get("spark.jars")]), *map(str, jars)]
    if shipped:
        conf["spark.jars"] = ",".join(shipped)
    if target.archive is not None:
        conf["spark.archives"] = f"{target.archive.absolute()}#{ENVIRONMENT}"
        conf[f"{_ENVIRONMENT_PREFIX}PYTHONPATH"] = ENVIRONMENT
        # The packages of an image may be too old to have it.
        conf.setdefault(_DAEMON, WORKER_DAEMON)
    return conf


def _problems_of_conf(target: SparkTarget) -> list[Problem]:
    problems = [
        Problem(
            field=f"--conf {key}",
            value=target.conf[key],
            message="the setting is one of Braid's own",
            hint=OWNED[key],
        )
        for key in sorted(target.conf.keys() & OWNED.keys())
    ]
    cores = target.conf.get(_EXECUTOR_CORES, "1")
    if not cores.isdecimal() or int(cores) < 1:
        problem = Problem(
            field=f"--conf {_EXECUTOR_CORES}",
            value=cores,
            message="expected a number of cores from 1",
            hint="tasks that an executor runs at once",
        )
        problems.append(problem)
    return problems


def _problems_of_kind(
    target: SparkTarget, warehouse: str, environment: Mapping[str, str]
) -> list[Problem]:
    if target.is_submitted:
        return _problems_of_given(
            {"--master": target.master, "--conf": target.conf, **_of_executors(target)},
            message="spark-submit has started the application already",
            hint="give it to spark-submit, before the program",
        )
    if target.master is None:
        return _problems_of_given(
            {**_of_executors(target), "--shared-warehouse": target.is_warehouse_shared},
            message="local tasks have the packages, the environment and the folders of this process",
            hint="leave the option out, or name a cluster with `--master`",
        )
    problems = list(_problems_of_master(target.master, environment))
    if problems:
        return problems
    if target.archive is not None and not _is_archive(target.archive):
        is_there = target.archive.exists()
        problem = Problem(
            field="--archive",
            value=str(target.archive),
            message="the file is no archive" if is_there else "there is no such file",
            hint="`braid prepare --archive FILE` makes it",
        )
        problems.append(problem)
    return problems + _problems_of_warehouse(warehouse, is_shared=target.is_warehouse_shared)


def _problems_of_master(master: str, environment: Mapping[str, str]) -> Iterator[Problem]:
    is_standalone = master.startswith("spark://")
    if not master.startswith(MASTERS[1:]) or (is_standalone and not _STANDALONE.fullmatch(master)):
        yield Problem(
            field="--master",
            value=master,
            message="expected spark://host:port, yarn or k8s://…",
            hint="without the option tasks run on this machine",
        )
    elif master == "yarn" and not any(map(environment.get, _YARN_SETTINGS)):
        yield Problem(
            field="--master",
            value=master,
            message=f"neither {' nor '.join(_YARN_SETTINGS)} is set, by which Spark finds the cluster",
            hint="set one of them to the folder that has the cluster's yarn-site.xml",
        )


def _problems_of_warehouse(warehouse: str, *, is_shared: bool) -> list[Problem]:
    if "://" in warehouse or is_shared:
        return []
    problem = Problem(
        field="--warehouse",
        value=warehouse,
        message="executors on other machines write to it, and a folder is on this one",
        hint="use an object store such as s3://bucket/folder; if every machine has this folder under the same "
        "path, say so with `--shared-warehouse`",
    )
    return [problem]


def _of_executors(target: SparkTarget) -> dict[str, object]:
    return {
        "--archive": target.archive,
        "--python": target.python,
        "--executor-env": target.executor_env,
    }


def _is_archive(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path)
    except OSError:
        return False


def _problems_of_given(options: Mapping[str, object], *, message: str, hint: str) -> list[Problem]:
    """Return a problem for each option that is given."""
    return [
        Problem(field=option, value=None, message=message, hint=hint)
        for option, value in options.items()
        if value
    ]
