"""Scheduler pools of Spark: one for each stream, so that the streams of a session share its task slots by weight.

Spark makes a pool of weight 1 when a job first names it. Pools of other weights are named in a file that Spark reads when
it starts, before the streams are known. So a pool is added to Spark's scheduler here, as Spark does it for the pools of
that file.
"""

from typing import Any

from pyspark import SparkContext


def use_pool(context: SparkContext, name: str, *, weight: int) -> None:
    """Let the jobs of this thread, and of the queries that it starts, run in a pool.

    Of the pools that have tasks waiting, the next free slot goes to the one that runs the fewest tasks for its weight.

    Args:
        context: Spark's context, with the scheduler mode `FAIR`.
        name: Name of the pool. With another weight it is another pool, so that tasks of the former one still run.
        weight: From 1. A pool of weight 2 gets twice as many slots as one of weight 1.
    """
    assert weight >= 1, weight
    pool = f"{name} weight {weight}"
    root = context._jsc.sc().taskScheduler().rootPool()
    if root.getSchedulableByName(pool) is None:
        root.addSchedulable(_pool(context, pool, weight))
    context.setLocalProperty("spark.scheduler.pool", pool)


def _pool(context: SparkContext, name: str, weight: int) -> Any:
    jvm = context._jvm
    assert jvm is not None, "the context is not stopped"
    scheduler = jvm.org.apache.spark.scheduler
    return scheduler.Pool(name, scheduler.SchedulingMode.FIFO(), 0, weight)
