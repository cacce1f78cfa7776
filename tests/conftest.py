"""Servers that are started once a run, and only if a test asks for them; and how Java starts."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from braid.demo.broker import KafkaBroker
from braid.demo.s3_fault_proxy import Faults
from braid.demo.s3_server import S3Server
from braid.pipelines.spark.jars import resolve
from tests.interop.java_reader import BUFFERED_MANIFESTS
from tests.support.class_archive import JVM_OPTIONS, READER
from tests.support.s3_storage import s3_file_io
from tests.support.server_choice import choose_servers
from tests.support.servers import Servers, servers_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How fast an example is decides nothing. A change is judged by the same examples as the one before it;
# `--hypothesis-profile=random`, with which `make soak` runs, draws others each time.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("suite", settings.get_profile("random"), derandomize=True)
settings.load_profile("suite")

# Spark's launcher starts a Java of its own.
os.environ.setdefault("ORACLE_JVM", f"{READER.options()} {BUFFERED_MANIFESTS}")
os.environ.setdefault("SPARK_LAUNCHER_OPTS", JVM_OPTIONS)
os.environ.setdefault("SPARK_SUBMIT_OPTS", JVM_OPTIONS)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect tests alone: examples in docstrings are the product's, and a search of all names of a module takes a while."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collect no garbage while tests are collected: nearly all that is made stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let garbage collections pass over modules and tests, which stay: a full one takes half a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_report_header() -> str:
    """Say which servers tests use."""
    return str(choose_servers())


@pytest.fixture(scope="session", autouse=True)
def priority() -> Iterator[None]:
    """Keep the priority of this process: a command that lowers its own would slow down all tests after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _: os.getpriority(os.PRIO_PROCESS, 0))
        patch.setattr(os, "sched_setscheduler", lambda *_: None, raising=False)
        yield


@pytest.fixture(scope="session")
def servers() -> Servers:
    """The broker, the schema registry and the S3 server of tests: in containers where Docker answers."""
    return servers_of(choose_servers())


@pytest.fixture(scope="session")
def kafka(servers: Servers) -> Iterator[KafkaBroker]:
    """A running broker, shared: use topic names of your own, and leave it running."""
    with servers.broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def shared_s3_server(servers: Servers) -> Iterator[S3Server]:
    """The one S3 server of this process."""
    with servers.s3() as server:
        s3_file_io(server).probe_exclusive_create(server.warehouse)
        yield server


@pytest.fixture
def s3_server(shared_s3_server: S3Server) -> Iterator[S3Server]:
    """A running S3 server, shared: use folders of your own; faults end with the test."""
    yield shared_s3_server
    shared_s3_server.proxy.faults = Faults()
    shared_s3_server.proxy.is_recording = False
    shared_s3_server.proxy.requests.clear()
    shared_s3_server.proxy.injected.clear()


@pytest.fixture(scope="session")
def spark_jars() -> list[Path]:
    """The jars of Spark's Kafka connector."""
    return resolve(["spark"])["spark"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one Spark session of this process."""
    # Late: most parts of the run need no Spark, and it takes half a second to load.
    from braid.pipelines.spark.session import build_session  # noqa: PLC0415

    session = build_session(
        app_name="tests",
        work_dir=tmp_path_factory.mktemp("spark"),
        cores=4,  # task slots of a runner of two cores
        conf={"spark.scheduler.mode": "FAIR", "spark.sql.shuffle.partitions": "2"},
    )
    yield session
    session.stop()
