"""Streams and compactions on a Spark cluster that loses drivers, executors and machines; and what executors get."""

import gc
import logging
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import orjson
import pyarrow as pa
import pytest
from kafka import KafkaProducer

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.s3_server import S3Server
from braid.lake import Catalog, SystemClock
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec
from tests.support.chaos.plan import CLUSTER_DECK, chaos_plan
from tests.support.chaos.run import ChaosOutcome, run_chaos
from tests.support.doc_examples import ROOT
from tests.support.s3_storage import s3_file_io
from tests.support.standalone_cluster import StandaloneCluster
from tests.support.waiting import PATIENCE_S
from tests.unit.backfill.bed import PARCELS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.task.duration.threshold": "300ms",
}
"""Tasks that take long run twice."""


TOPIC_ROWS = ({"id": 1, "version": 2, "city": "Linz"}, {"id": 3, "version": 1, "city": "Wels"})
SECRETS = ("s3cr3t-of-the-store", "s3cr3t-of-kafka")


@pytest.fixture(autouse=True)
def without_logs_of_clients(caplog: pytest.LogCaptureFixture) -> None:
    """As in a runner; what is logged of a broker that is away holds sockets."""
    caplog.set_level(logging.CRITICAL, logger="kafka")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """A master and two workers of one core each."""
    with StandaloneCluster(tmp_path_factory.mktemp("cluster"), conf=SPECULATION) as running:
        yield running


def test_a_lost_executor_leaves_orphans_alone_and_nobody_sees_secrets(
    cluster: StandaloneCluster, kafka: KafkaBroker, s3_server: S3Server, tmp_path: Path
) -> None:
    """An executor dies when its files are written; then the others compact the table, delete what was left, and backfill."""
    (tmp_path / "events").mkdir()
    kafka.create_topics({"cluster-secrets": 1})
    with kafka_producer(kafka) as producer:
        for value in TOPIC_ROWS:
            producer.send("cluster-secrets", orjson.dumps(value))
    catalog = Catalog(s3_server.warehouse, file_io=s3_file_io(s3_server))
    table = catalog.create_table(
        "cluster.compacted",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "2"},
    )
    rows = {"k": pa.array(range(60), pa.int32()), "v": pa.array([1] * 60, pa.int32())}
    table.write_and_commit(pa.table(rows))
    register_parcels(s3_server)
    files = f"{s3_server.warehouse}/older-cluster-parcels"
    s3_file_io(s3_server).write_new(f"{files}/a.csv", b"id,version,city\n1,1,Graz\n2,2,Graz\n")
    bed = (
        *(kafka.bootstrap_servers, "cluster-secrets", s3_server.warehouse, table.identifier),
        *("cluster.parcels/s", files),
    )

    done = run_program(
        "tests.support.cluster_driver",
        *(cluster.master, cluster.archive(), tmp_path / "events", *bed, *SECRETS),
        environment=s3_server.environment,
    )

    assert done.returncode == 0, f"{done.stderr}{cluster.log_tails()}"
    shown = orjson.loads(done.stdout)
    assert sorted(shown["read"]) == [[orjson.dumps(row).decode(), SECRETS[0]] for row in TOPIC_ROWS]
    assert shown["executors"]["lost"] == 1
    assert shown["executors"]["last_lost_reason"]
    assert shown["errors"] == ["None", "None"]
    orphans = [path.rpartition("/")[2] for path in shown["orphans"]]
    assert len(orphans) == 2
    assert all(name.startswith("data-") for name in orphans)
    table.refresh()
    assert set(table.runs_per_bucket().values()) == {1}
    found = table.scan().to_arrow().sort_by("k")
    assert found["v"].to_pylist() == [7] * 50 + [1] * 10
    parcels = catalog.table("cluster.parcels").scan(columns=["id", "version", "city"]).to_arrow()
    assert sorted(tuple(row.values()) for row in parcels.to_pylist()) == [
        (1, 2, "Linz"),
        (2, 2, "Graz"),
        (3, 1, "Wels"),
    ]
    log = "".join(path.read_text() for path in tmp_path.rglob("events/**/*") if path.is_file())
    assert "SparkListenerJobEnd" in log
    assert "backfill of cluster.parcels to 50.0%" in log
    assert "spark.executorEnv.STORE_KEY" in shown["pages"][0]
    everything = [log, *shown["pages"], shown["command"], done.stderr, cluster.log_tails()]
    assert not [secret for secret in SECRETS if any(secret in text for text in everything)]


@pytest.mark.timeout(3_600)
def test_a_cluster_that_loses_parts_loses_and_repeats_nothing(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    outcome = run(tmp_path, cluster, seed=1, rounds=2)

    assert "compacted table=" in (tmp_path / "logs/runner.log").read_text()
    assert all(outcome.letters.values())


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", [11, 12])
def test_a_cluster_that_loses_parts_for_long_loses_and_repeats_nothing(
    cluster: StandaloneCluster, tmp_path: Path, seed: int
) -> None:
    outcome = run(tmp_path, cluster, seed=seed, rounds=10)

    assert outcome.executors_lost


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("target", ["worker", "executor", "driver"])
def test_a_compaction_that_loses_parts_loses_and_repeats_nothing(
    cluster: StandaloneCluster, s3_server: S3Server, target: str
) -> None:
    """Each of 20 compactions loses something at a moment that is drawn; the next attempt does the rest."""
    drawn = random.Random(f"compaction {target}")
    catalog = Catalog(s3_server.warehouse, file_io=s3_file_io(s3_server))
    table = catalog.create_table(
        f"cluster.by_{target}",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "4"},
    )
    expected: dict[int, int] = {}
    for number in range(20):
        for _ in range(3):
            keys = drawn.sample(range(200_000), 50_000)
            expected |= dict.fromkeys(keys, number)
            rows = {
                "k": pa.array(keys, pa.int32()),
                "v": pa.array([number] * len(keys), pa.int32()),
            }
            table.write_and_commit(pa.table(rows))
        _compact_and_kill(cluster, s3_server, table.identifier, target, wait_s=drawn.uniform(0, 4))

        table = catalog.table(table.identifier)
        latest = table.latest_snapshot()
        assert latest is not None
        names = [entry.file.file_name for entry in table.live_files(latest)]
        assert len(names) == len(set(names))
        assert set(table.runs_per_bucket().values()) == {1}
        table.clean_orphans(min_age_ms=0, delete=True)
        found = table.scan().to_arrow()
        assert dict(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True)) == expected


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_demo_runs_on_a_cluster(cluster: StandaloneCluster) -> None:
    """The executors' Python is bare: the archive has all packages."""
    conf = [option for option in cluster.options if option.startswith("--conf=")]
    options = [
        f"--runner-option={one}" for one in (f"--python={bare_python()}", "--max-share=1", *conf)
    ]
    arguments = ("--s3", "--scale=0.2", f"--master={cluster.master}", *options)

    done = run_program("braid.demo.flights", *arguments)

    assert done.returncode == 0, f"{done.stdout}{done.stderr}{cluster.log_tails()}"
    assert "wrong values: 0" in done.stdout


@pytest.mark.soak
def test_what_a_pod_of_kubernetes_runs_is_an_executor(tmp_path: Path) -> None:
    with StandaloneCluster(tmp_path, workers=0) as without_workers:
        done = run_program("tests.support.executor_pod_driver", without_workers.master)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["runner-0-exec-7", "0"]


@pytest.mark.soak
@pytest.mark.parametrize(("keeps_state", "outcome"), [(True, "replaced"), (False, "starved")])
def test_an_application_gets_executors_from_a_master_that_comes_back_with_its_state(
    tmp_path: Path, *, keeps_state: bool, outcome: str
) -> None:
    """Of one without its state it gets none: its work fails."""
    with StandaloneCluster(tmp_path, workers=1, keeps_state=keeps_state) as fragile:
        program = [sys.executable, "-m", "tests.support.orphaned_driver"]
        command = [*program, fragile.master, str(fragile.archive()), str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True
        ) as driver:
            assert driver.stdout is not None
            try:
                assert driver.stdout.readline() == "ready\n"
                fragile.kill_master()
                assert fragile.kill_executor(0)
                fragile.start_master()

                assert driver.stdout.readline().startswith(outcome), fragile.log_tails()
                assert driver.wait() == 0
            finally:
                driver.kill()


@pytest.mark.soak
def test_a_master_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    """Spark asks for it for a minute."""
    Catalog(str(tmp_path)).create_table("d.t", columns=[("k", "INT")], primary_key=["k"])
    master = f"--master=spark://127.0.0.1:{free_port()}"
    options = ("--warehouse", tmp_path, "--shared-warehouse", master)

    unknown = run_program("braid", "compact", "d.other", *options)
    done = run_program("braid", "compact", "d.t", *options)

    assert unknown.returncode == 3
    assert "spark" not in unknown.stderr
    assert done.returncode == 75
    assert "hint: is its master alive" in done.stderr
    assert "Traceback" not in done.stderr


def register_parcels(server: S3Server) -> None:
    """Register the table `cluster.parcels` with the stream `s`, for backfills."""
    file_io, clock = s3_file_io(server), SystemClock()
    catalog = Catalog(server.warehouse, file_io=file_io)
    registrar = Registrar(RegistryStore(file_io, server.warehouse, clock), catalog, clock)
    registrar.put_table("cluster", "parcels", TableSpec.model_validate(PARCELS))
    definition = StreamDefinition.model_validate({"topic": "cluster-secrets"})
    registrar.put_stream("cluster.parcels", "s", definition)


def bare_python() -> Path:
    """Return the Python that this environment was made of, which has no packages of ours."""
    return Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")


def _compact_and_kill(
    cluster: StandaloneCluster, server: S3Server, identifier: str, target: str, *, wait_s: float
) -> None:
    """Compact a table, kill a part some time after executors have come, and compact again until it is done."""
    arguments = ("compact", identifier, "--warehouse", server.warehouse, "--workers=2")
    command = [sys.executable, "-m", "braid", *arguments, *cluster.options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **server.environment}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as driver:
        cluster.wait_for_executors(1)
        time.sleep(wait_s)
        if target == "driver":
            driver.kill()
        elif target == "executor":
            cluster.kill_executor(0)
        else:
            cluster.kill_worker(0)
            cluster.start_worker(0)
        status = driver.wait(PATIENCE_S)
    print(f"{target} killed after {wait_s:.2f} s, status {status}")
    if status:
        done = run_program("braid", *arguments, *cluster.options, environment=server.environment)
        assert done.returncode == 0, done.stderr


def run(folder: Path, cluster: StandaloneCluster, *, seed: int, rounds: int) -> ChaosOutcome:
    """Kill a worker, an executor and the driver as often as there are rounds, at moments of the seed.

    Executors ingest and compact: the table is compacted from three sorted runs on.
    """
    plan = chaos_plan(seed, steps=rounds * len(CLUSTER_DECK), deck=CLUSTER_DECK, records=120)
    outcome = run_chaos(folder, plan, seed=seed, runners=["runner"], cluster=cluster)
    gc.collect()
    print(outcome)
    assert not outcome.wrong, str(outcome)
    return outcome


def run_program(
    module: str, *arguments: object, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run a driver in a process of its own: a process has one Spark session, and this one may have another."""
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@contextmanager
def kafka_producer(kafka: KafkaBroker) -> Iterator[KafkaProducer]:
    """Yield a producer; at the end all is sent."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    try:
        yield producer
        producer.flush()
    finally:
        producer.close()
