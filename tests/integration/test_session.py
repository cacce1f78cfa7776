"""The Spark session is quiet, uses this Python, ends with it, and says why a cluster gives none."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from braid.pipelines.spark.class_archive import archive_path
from braid.pipelines.spark.jars import resolve
from braid.pipelines.spark.session import jvm_process_id
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]

_PROGRAM = """\
import sys, time
from pathlib import Path
from braid.pipelines.spark.session import build_session, jvm_process_id
session = build_session(app_name="victim", work_dir=Path(sys.argv[1]))
session.range(4).mapInArrow(lambda batches: batches, "id long").collect()
print(jvm_process_id(session), flush=True)
time.sleep(600)
"""


_PROGRAM_WITHOUT_CLUSTER = """\
import sys
from pathlib import Path
from braid.lake import StorageUnavailable
from braid.pipelines.spark.session import build_session
from braid.pipelines.spark.target import SparkTarget
conf = {"spark.kubernetes.container.image": "any"}
try:
    build_session(
        app_name="lost", work_dir=Path(sys.argv[1]), target=SparkTarget(master=sys.argv[2], conf=conf)
    )
except StorageUnavailable as error:
    print(error)
"""


def _descendants(process_id: int) -> set[int]:
    children = Path(f"/proc/{process_id}/task").glob("*/children")
    direct = {int(word) for path in children for word in path.read_text().split()}
    return direct.union(*map(_descendants, direct))


def _is_alive(process_id: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{process_id}/stat").read_text()
    return False


def test_workers_exchange_arrow_batches_with_this_python(spark: SparkSession) -> None:
    def name_python(batches):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"prefix": [sys.prefix] * batch.num_rows})

    rows = spark.range(3).mapInArrow(name_python, "prefix string").collect()

    assert [row["prefix"] for row in rows] == [sys.prefix] * 3


def test_workers_have_loaded_what_a_task_needs_before_it_asks(spark: SparkSession) -> None:
    def name_modules(batches):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        for batch in batches:
            is_loaded = "braid.pipelines.sink.write_task" in sys.modules
            yield pa.RecordBatch.from_pydict({"is_loaded": [is_loaded] * batch.num_rows})

    rows = spark.range(3).mapInArrow(name_modules, "is_loaded boolean").collect()

    assert [row["is_loaded"] for row in rows] == [True] * 3


def test_kafka_connector_and_zone_are_set(spark: SparkSession) -> None:
    frame = spark.readStream.format("kafka").option("subscribe", "topic")
    frame = frame.option("kafka.bootstrap.servers", "127.0.0.1:1")

    assert "offset" in frame.load().columns
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_the_jvm_maps_its_classes_from_the_archive(spark: SparkSession) -> None:
    """The archive is made by `make jars`."""
    mapped = Path(f"/proc/{jvm_process_id(spark)}/maps").read_text()

    assert str(archive_path(resolve(["spark"])["spark"]).resolve()) in mapped


def test_spark_can_search_the_trace_of_a_stopped_query(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    pattern = jvm.java.util.regex.Pattern.compile(r"((.|\r\n|\r|\n)*)(\r\n|\r|\n): (x)")

    assert pattern.matcher("a" * 20_000 + "\n: x").find()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_jvm_and_workers_end_when_their_python_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        jvm = int(driver.stdout.readline())
        started = _descendants(driver.pid)
        os.kill(driver.pid, signal.SIGKILL)

    assert jvm in started
    assert len(started) > 1
    wait_until(lambda: not any(map(_is_alive, started)), what=lambda: f"alive of {started}")


@pytest.mark.parametrize(
    ("master", "reason"),
    [
        ("k8s://https://127.0.0.1:1", "Connection refused"),
        pytest.param(
            "spark://127.0.0.1:1", "no master answered within a minute", marks=pytest.mark.soak
        ),
    ],
)
def test_a_cluster_that_does_not_answer_is_named_with_the_reason(
    tmp_path: Path, master: str, reason: str
) -> None:
    program = [sys.executable, "-c", _PROGRAM_WITHOUT_CLUSTER, str(tmp_path), master]
    ended = subprocess.run(program, check=True, capture_output=True, text=True, timeout=300)

    said, hint = ended.stdout.splitlines()
    assert said == f"the cluster {master} gives no session: {reason}"
    assert hint.startswith("hint: is its master alive")
