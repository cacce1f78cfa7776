"""Declarations of the commands `braid table …` for long work on one table: `expire`, `clean-orphans` and `rescale`.

A service does it as an operation. With a warehouse, this process does it.
"""

from functools import partial
from typing import Annotated

import typer

from braid.cli.extras import require_extra
from braid.cli.options import (
    API,
    Api,
    ExecutorArchive,
    ExecutorEnv,
    ExecutorPython,
    Master,
    OperationWait,
    SharedWarehouse,
    SparkConf,
    TableName,
    TokenFile,
    WarehouseInsteadOfApi,
)
from braid.cli.submitted import is_submitted
from braid.cli.table_run import request_work, run_on_table

app = typer.Typer()


@app.command(epilog="Example: braid table rescale shop.orders --buckets 8 --wait 600")
def rescale(
    table: TableName,
    *,
    buckets: Annotated[int, typer.Option(min=1, help="New number of buckets of each partition.")],
    wait: OperationWait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Change a table's number of buckets while readers and streams use it."""
    if warehouse is None:
        request_work(
            table, api, token_file, wait, lambda found: found.rescale({"buckets": buckets})
        )
    from braid.cli.rescale import rescale as rescale_table

    run_on_table(warehouse, table, lambda path: rescale_table(path, table, buckets))


@app.command("clean-orphans", epilog="Example: braid table clean-orphans shop.orders --wait 600")
def clean_orphans(
    table: TableName,
    *,
    older_than: Annotated[str, typer.Option(help="Minimum age; younger files are kept.")] = "1 d",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the files found.")] = False,
    wait: OperationWait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    master: Master = None,
    conf: SparkConf = None,
    python: ExecutorPython = None,
    archive: ExecutorArchive = None,
    executor_env: ExecutorEnv = None,
    shared_warehouse: SharedWarehouse = False,
) -> None:
    """Print the files that nothing in the table refers to; delete them with --delete.

    With --warehouse, this process does it, or with --master the executors of a Spark cluster list and delete.
    """
    from braid.cli.arguments import duration_ms, refuse, refuse_without_master

    min_age_ms = duration_ms("--older-than", older_than)
    is_local = master is None and not is_submitted()
    if is_local:
        refuse_without_master(
            conf=conf,
            python=python,
            archive=archive,
            executor_env=executor_env,
            shared_warehouse=shared_warehouse,
        )
    if warehouse is None:
        if master is not None:
            refuse("--master", master, "expected together with --warehouse")
        body = {"dry_run": not delete, "min_age_seconds": min_age_ms // 1000}
        request_work(table, api, token_file, wait, lambda found: found.clean_orphan_files(body))
    from braid.cli.orphans import clean

    work = partial(clean, identifier=table, min_age_ms=min_age_ms, delete=delete)
    if is_local:
        run_on_table(warehouse, table, work)
    require_extra("spark")
    # A command without a cluster must not load Spark.
    from braid.cli.spark_pool import spark_spread
    from braid.cli.spark_target import spark_target

    def clean_on_cluster(path: str) -> int:
        target = spark_target(
            warehouse=path,
            master=master,
            conf=conf or (),
            python=python,
            archive=archive,
            executor_env=executor_env or (),
            is_warehouse_shared=shared_warehouse,
        )
        return work(path, new_spread=partial(spark_spread, target, warehouse=path))

    run_on_table(warehouse, table, clean_on_cluster)


@app.command("expire", epilog="Example: braid table expire shop.orders --dry-run --wait 600")
def expire_snapshots(
    table: TableName,
    *,
    retain_min: Annotated[
        int | None,
        typer.Option(min=1, help="Keep at least this many; by default snapshot.num-retained.min."),
    ] = None,
    retain_max: Annotated[
        int | None,
        typer.Option(min=1, help="Keep at most this many; by default snapshot.num-retained.max."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(help="Keep snapshots younger than this; by default snapshot.time-retained."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would expire, without expiring it.")
    ] = False,
    wait: OperationWait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Expire the oldest snapshots, and delete the files that only they need."""
    from braid.cli.arguments import duration_ms

    age_ms = None if older_than is None else duration_ms("--older-than", older_than)
    if warehouse is None:
        body = {
            "dry_run": dry_run,
            "retain_min": retain_min,
            "retain_max": retain_max,
            "retained_seconds": None if age_ms is None else age_ms // 1000,
        }
        request_work(table, api, token_file, wait, lambda found: found.expire_snapshots(body))
    from braid.cli.expiry import expire

    run_on_table(
        warehouse,
        table,
        lambda path: expire(
            path,
            table,
            retain_min=retain_min,
            retain_max=retain_max,
            older_than_age_ms=age_ms,
            is_dry_run=dry_run,
        ),
    )
