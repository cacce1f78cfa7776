"""Declarations of the commands `braid stream …`: `backfill`, `dead-letters` and `replay`; adds those of `stream_service_cli`.

All these commands are declared in two files; the modules that they call do the work.
"""

import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from braid.cli.extras import require_extra
from braid.cli.options import (
    API,
    Api,
    Clusters,
    ExecutorArchive,
    ExecutorEnv,
    ExecutorPython,
    Kafka,
    Master,
    Output,
    SharedWarehouse,
    SparkConf,
    StreamName,
    TableName,
    TokenFile,
    Warehouse,
    WarehouseInsteadOfApi,
)
from braid.cli.output import OutputFormat
from braid.cli.stream_service_cli import app as service_app
from braid.cli.submitted import is_submitted

_BACKFILL_NICENESS: Final = 10
"""A stream that runs on the same machine, and the compaction of its table, come first."""

app = typer.Typer(
    no_args_is_help=True,
    help="Show, start and stop streams; move them, fill their columns, mend their dead letters.",
)
app.add_typer(service_app)

Reason = Annotated[
    list[str] | None, typer.Option(help="Only letters with this reason. May be repeated.")
]
Offsets = Annotated[
    list[str] | None,
    typer.Option(
        help="Only records in this range of offsets, without END. Once for each partition.",
        metavar="PARTITION:START-END",
    ),
]


@app.command(
    epilog="Example: braid stream backfill shop.orders payments --warehouse /data/warehouse --from /data/payments.parquet"
)
def backfill(
    table: TableName,
    stream: StreamName,
    *,
    warehouse: Warehouse,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="File, folder, pattern (/data/*.csv) or address (s3://…).",
            metavar="PATH",
        ),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Topic to read a range of, instead of files.")
    ] = None,
    from_offsets: Annotated[
        str | None,
        typer.Option(help="First offsets: partition:offset,…", metavar="OFFSETS"),
    ] = None,
    to_offsets: Annotated[
        str | None,
        typer.Option(help="Offsets after the last ones: partition:offset,…", metavar="OFFSETS"),
    ] = None,
    clusters: Clusters = None,
    kafka: Kafka = None,
    name: Annotated[
        str, typer.Option(help="Name of the backfill; the same name continues it.")
    ] = "history",
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="parquet, csv, json or avro; by default from the suffixes of the files.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Fields of the files: column=field,… May be repeated.", metavar="MAPPING"
        ),
    ] = None,
    delimiter: Annotated[str, typer.Option(help="CSV: the character between values.")] = ",",
    quote: Annotated[str, typer.Option(help="CSV: the character around values.")] = '"',
    null_text: Annotated[str, typer.Option(help="CSV: the text that stands for null.")] = "",
    rejects: Annotated[
        Path | None,
        typer.Option(
            help="File of refused records; by default TABLE.STREAM.NAME.rejects.jsonl.",
            metavar="FILE",
        ),
    ] = None,
    rejects_max: Annotated[
        int, typer.Option(min=0, help="Stop when more records than this are refused.")
    ] = 1_000,
    share: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1.0,
            help="Share of the time in which the backfill works; it rests otherwise.",
        ),
    ] = 1.0,
    rows_per_second: Annotated[
        float | None, typer.Option(min=1, help="Largest number of rows a second.")
    ] = None,
    max_lag: Annotated[
        float | None,
        typer.Option(
            min=0, help="Pause while the live stream is behind by more seconds than this."
        ),
    ] = None,
    rows_per_commit: Annotated[
        int,
        typer.Option(
            min=1,
            help="Largest number of rows in one commit; with --master, of a topic's records in one.",
        ),
    ] = 1_000_000,
    bulk: Annotated[
        bool,
        typer.Option(
            "--bulk", help="Fill an empty table with sorted runs, in one commit at the end."
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --master: parts of the source written at once; by default 4."
        ),
    ] = None,
    master: Master = None,
    conf: SparkConf = None,
    python: ExecutorPython = None,
    archive: ExecutorArchive = None,
    executor_env: ExecutorEnv = None,
    shared_warehouse: SharedWarehouse = False,
) -> None:
    """Write older records of files, or of a topic, into the columns of a stream, beside the live stream.

    Killed and started again with the same arguments, it continues where it was; finished, it does nothing.
    With --master, the executors of a Spark cluster read and write, and this process commits.
    """
    _yield_the_processor()  # before the imports, which take seconds of it
    from braid.cli.arguments import (
        check_table,
        existing_warehouse,
        known_clusters,
        one_line_errors,
        refuse_without_master,
    )
    from braid.cli.backfill import BackfillArguments, backfill as run

    warehouse = existing_warehouse(warehouse)
    check_table(table)
    arguments = BackfillArguments(
        identifier=table,
        stream=stream,
        name=name,
        source=source,
        topic=topic,
        from_offsets=from_offsets,
        to_offsets=to_offsets,
        clusters=known_clusters(clusters, kafka=kafka),
        format=file_format,
        columns=tuple(columns or ()),
        delimiter=delimiter,
        quote=quote,
        null_text=null_text,
        rejects=rejects,
        rejects_max=rejects_max,
        share=share,
        rows_per_second=rows_per_second,
        max_lag=max_lag,
        rows_per_commit=rows_per_commit,
        is_bulk=bulk,
    )
    if master is None and not is_submitted():
        refuse_without_master(
            conf=conf,
            python=python,
            archive=archive,
            executor_env=executor_env,
            shared_warehouse=shared_warehouse,
            workers=workers,
        )
        with one_line_errors():
            sys.exit(run(warehouse, arguments))
    require_extra("spark")
    # A command without a cluster must not load Spark.
    from braid.cli.backfill import check_spread
    from braid.cli.spark_pool import spark_tasks
    from braid.cli.spark_target import spark_target

    target = spark_target(
        warehouse=warehouse,
        master=master,
        conf=conf or (),
        python=python,
        archive=archive,
        executor_env=executor_env or (),
        is_warehouse_shared=shared_warehouse,
    )
    check_spread(arguments, is_shared=shared_warehouse)
    new_pool = partial(spark_tasks, target, warehouse=warehouse, parallel=workers)
    with one_line_errors():
        sys.exit(run(warehouse, arguments, new_pool=new_pool))


@app.command(
    "dead-letters",
    epilog="Example: braid stream dead-letters shop.orders payments --reason wrong_type",
)
def dead_letters(
    table: TableName,
    stream: StreamName,
    *,
    reason: Reason = None,
    offsets: Offsets = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Letters to print, the oldest first; 0: their numbers alone.")
    ] = 100,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    clusters: Clusters = None,
    kafka: Kafka = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print dead letters of a stream, and their numbers by reason.

    The stream's runner reads them for the service. With --warehouse, this process reads Kafka itself.
    """
    from braid.cli.arguments import check_stream
    from braid.cli.letter_arguments import selection

    check_stream(table, stream)
    chosen = selection(reason or (), offsets or ())
    if warehouse is None:
        from braid.cli.api.connection import Connection
        from braid.cli.api.dead_letters import show as show_over_http

        with Connection(api=api, token_file=token_file).client() as client:
            found = client.table(table).stream(stream)
            sys.exit(show_over_http(found, chosen, limit=limit, output=output))
    require_extra("spark")
    from braid.cli.arguments import existing_warehouse, known_clusters, one_line_errors
    from braid.cli.letters import show

    path = existing_warehouse(warehouse)
    known = known_clusters(clusters, kafka=kafka)
    with one_line_errors():
        status = show(path, table, stream, chosen, clusters=known, last=limit, output=output)
    sys.exit(status)


@app.command(
    epilog="Example: braid stream replay shop.orders payments --reason wrong_type --wait 60"
)
def replay(
    table: TableName,
    stream: StreamName,
    *,
    reason: Reason = None,
    offsets: Offsets = None,
    wait: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds to wait for the end of the replay; 0: only request it.",
            metavar="SECONDS",
        ),
    ] = 0,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    clusters: Clusters = None,
    kafka: Kafka = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Write the records of a stream's dead letters by its present declaration, each once.

    The stream's runner does it, while the stream goes on. With --warehouse, this process does it itself, to its end. Exits with 1 if
    records are refused again.
    """
    from braid.cli.arguments import check_stream
    from braid.cli.letter_arguments import selection

    check_stream(table, stream)
    chosen = selection(reason or (), offsets or ())
    if warehouse is None:
        from braid.cli.api.connection import Connection
        from braid.cli.api.dead_letters import replay as replay_over_http

        with Connection(api=api, token_file=token_file).client() as client:
            found = client.table(table).stream(stream)
            sys.exit(replay_over_http(found, chosen, wait_seconds=wait, output=output))
    require_extra("spark")
    from braid.cli.arguments import existing_warehouse, known_clusters, one_line_errors
    from braid.cli.letters import replay as run

    path = existing_warehouse(warehouse)
    known = known_clusters(clusters, kafka=kafka)
    with one_line_errors():
        status = run(path, table, stream, chosen, clusters=known)
    sys.exit(status)


def _yield_the_processor() -> None:
    """Let everything else on the machine run first.

    With the class for idle times, which Linux has, a thread of another process that wakes takes the core at once; with
    niceness alone it would wait for the end of a slice.
    """
    os.nice(_BACKFILL_NICENESS)
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
