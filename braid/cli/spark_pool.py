"""Work of a command on a cluster: by a Spark session of its own, and its executors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from pyspark.sql import SparkSession

from braid.cli.arguments import end
from braid.lake import BucketPool, Spread
from braid.pipelines.spark.bucket_pool import SparkPool
from braid.pipelines.spark.cluster_session import cluster_session
from braid.pipelines.spark.jars import JarError
from braid.pipelines.spark.single_tasks import SingleTasks
from braid.pipelines.spark.spread_paths import SparkSpread
from braid.pipelines.spark.target import SparkTarget

CLUSTER_WORKERS: Final = 4
"""Tasks of a command that a cluster runs at once, unless an option says otherwise."""
_GRACE_SECONDS: Final = 30.0

_Pool = TypeVar("_Pool", SparkPool, SingleTasks)


@contextmanager
def spark_pool(
    target: SparkTarget, *, warehouse: str, parallel: int | None
) -> Iterator[BucketPool]:
    """Yield a pool of a cluster's executors that compact; exit with one line when jars are missing.

    Args:
        target: The cluster.
        warehouse: Absolute path or address.
        parallel: Buckets compacted at once; None: `CLUSTER_WORKERS`.

    Raises:
        LakeError: Executors do not come, or cannot run this code.
    """
    tasks = parallel or CLUSTER_WORKERS
    with (
        _session(target, "braid-compaction", warehouse=warehouse, cores=tasks) as session,
        _closing(SparkPool(session.sparkContext, parallel=tasks)) as pool,
    ):
        yield pool


@contextmanager
def spark_tasks(
    target: SparkTarget, *, warehouse: str, parallel: int | None
) -> Iterator[SingleTasks]:
    """Yield a cluster's executors that write parts of a backfill; exit with one line when jars are missing.

    Args:
        target: The cluster.
        warehouse: Absolute path or address.
        parallel: Parts written at once; None: `CLUSTER_WORKERS`.

    Raises:
        LakeError: Executors do not come, or cannot run this code.
    """
    tasks = parallel or CLUSTER_WORKERS
    with (
        _session(target, "braid-backfill", warehouse=warehouse, cores=tasks) as session,
        _closing(SingleTasks(session.sparkContext, parallel=tasks, name="backfill")) as pool,
    ):
        yield pool


@contextmanager
def spark_spread(target: SparkTarget, *, warehouse: str) -> Iterator[Spread]:
    """Yield what lists and deletes files on a cluster's executors; exit with one line when jars are missing.

    Args:
        target: The cluster.
        warehouse: Absolute path or address.

    Raises:
        LakeError: Executors do not come, or cannot run this code.
    """
    cores = CLUSTER_WORKERS
    with _session(target, "braid-orphans", warehouse=warehouse, cores=cores) as session:
        yield SparkSpread(session.sparkContext, parallel=cores)


@contextmanager
def _closing(pool: _Pool) -> Iterator[_Pool]:
    """Close a pool at the end of the block; tasks that have begun get some time."""
    try:
        yield pool
    finally:
        pool.close(grace_s=_GRACE_SECONDS)


@contextmanager
def _session(
    target: SparkTarget, app_name: str, *, warehouse: str, cores: int
) -> Iterator[SparkSession]:
    try:
        with cluster_session(
            target, app_name=app_name, warehouse=warehouse, cores=cores
        ) as session:
            yield session
    except JarError as error:
        end(str(error), 1)
