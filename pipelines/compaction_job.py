"""Compaction job on a Spark cluster: each bucket is compacted and committed by a separate task.

    driver: MaintenanceService ──► a job of one task per bucket ──► executors: compact, commit
                  ▲───────────────────── outcome ◄──────────────────────────────┘

The job compacts the buckets that are due, once or every SECONDS, and expires snapshots and tags unless `--no-expire` is
given. With `--full` every bucket is compacted fully, once, and nothing expires.

    spark-submit … compaction_job.py --warehouse PATH [--every SECONDS | --full] [--parallel N] [--no-expire] [TABLE…]
"""

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Final

from pyspark.sql import SparkSession

from braid.lake import Catalog, LakeError, MaintenanceService, compact_buckets
from braid.pipelines.spark.bucket_pool import SparkPool

_LOG = logging.getLogger(__name__)
_LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
_GRACE_SECONDS: Final = 30.0


def compact_fully(pool: SparkPool, catalog: Catalog, identifiers: Collection[str]) -> int:
    """Compact some tables fully, and return how many buckets failed.

    Raises:
        LakeError: A table cannot be opened or compacted at all.
    """
    failures = 0
    for identifier in identifiers:
        for outcome in compact_buckets(pool, catalog.table(identifier), full=True):
            if outcome.error is not None:
                failures += 1
                _LOG.error("failed table=%s error=%s", identifier, outcome.error)
            else:
                _LOG.info("done table=%s result=%s", identifier, outcome.result)
    return failures


def main(arguments: Sequence[str]) -> int:
    """Compact once, or periodically until SIGTERM; return the exit status: 0, 1 after failures.

    Raises:
        LakeError: A named table does not exist, or the warehouse cannot be read.
    """
    options = _parse(arguments)
    logging.basicConfig(stream=sys.stderr, format=_LOG_FORMAT)
    for name in (_LOG.name, "braid.lake.table"):
        logging.getLogger(name).setLevel(logging.INFO)
    catalog = Catalog(options.warehouse)
    for identifier in options.tables:
        catalog.table(identifier)
    context = SparkSession.builder.appName("braid-compaction").getOrCreate().sparkContext
    parallel = options.parallel or context.defaultParallelism
    if options.full:
        pool = SparkPool(context, parallel=parallel)
        try:
            failures = compact_fully(pool, catalog, options.tables or catalog.list_tables())
        finally:
            pool.close(grace_s=_GRACE_SECONDS)
        return 1 if failures else 0
    service = MaintenanceService(
        catalog,
        (lambda: options.tables) if options.tables else catalog.list_tables,
        workers=parallel,
        new_pool=lambda: SparkPool(context, parallel=parallel),
        expires=options.expire,
    )
    every_s = options.every
    _run(service, service.round if every_s is None else lambda: service.run(interval_s=every_s))
    return 1 if every_s is None and any(one.failures for one in service.stats.values()) else 0


def _run(service: MaintenanceService, work: Callable[[], None]) -> None:
    """Run until the work is done or a signal arrives."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        service.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        # In a thread of its own: a signal handler runs in the main thread, and `stop` takes a lock that the
        # work may hold.
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(work).result()
    finally:
        service.close(grace_s=_GRACE_SECONDS)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compact tables on Spark.")
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="database.table; default: all tables"
    )
    parser.add_argument("--warehouse", required=True, metavar="PATH")
    parser.add_argument(
        "--every", type=float, metavar="SECONDS", help="interval of periodic runs; default: once"
    )
    parser.add_argument(
        "--full", action="store_true", help="compact everything, once; default: only what is due"
    )
    parser.add_argument(
        "--parallel",
        type=int,
        help="buckets compacted at once; default: as many as Spark has room for",
    )
    parser.add_argument("--no-expire", dest="expire", action="store_false", help="only compact")
    options = parser.parse_args(arguments)
    if options.full and options.every is not None:
        parser.error("--full compacts only once: leave --every out")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (LakeError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)
