"""Declarations of the commands `braid runner …`: the process of a runner; lists and drains of running ones."""

import sys
from typing import Annotated

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
    LogFormatOption,
    Master,
    MetricsHost,
    MetricsPort,
    Output,
    SharedWarehouse,
    SparkConf,
    TokenFile,
)
from braid.cli.output import OutputFormat, print_document
from braid.telemetry.logs import LogFormat

app = typer.Typer()


@app.callback(
    invoke_without_command=True,
    epilog="Example: braid runner --warehouse /data/warehouse --kafka localhost:9092",
)
def runner(
    context: typer.Context,
    *,
    warehouse: Annotated[
        str | None,
        typer.Option(
            "--warehouse",
            help="Folder or address (s3://…) that holds the tables and the registry; needed to run.",
            metavar="PATH",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name, unique in the warehouse; by default the machine's name."),
    ] = None,
    kafka: Kafka = None,
    clusters: Clusters = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(help="Run only this: db.table or db.table/stream. May be repeated."),
    ] = None,
    cores: Annotated[
        int, typer.Option(min=1, help="Tasks of one micro-batch that run at once.")
    ] = 2,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="Label that streams may require by `placement`. May be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    max_streams: Annotated[
        int | None, typer.Option(min=0, help="The most streams that it runs at once.")
    ] = None,
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            help="How long it lets other runners take its streams one by one before it ends.",
        ),
    ] = 5.0,
    max_share: Annotated[
        float,
        typer.Option(
            min=0.05,
            max=1,
            help="Largest share of the task slots that one stream occupies; there are cores / share slots.",
        ),
    ] = 0.5,
    task_memory_mb: Annotated[
        int, typer.Option(min=16, help="Memory of the rows that one task holds.")
    ] = 768,
    memory: Annotated[str, typer.Option(help="Heap of the driver's JVM.")] = "1g",
    master: Master = None,
    conf: SparkConf = None,
    python: ExecutorPython = None,
    archive: ExecutorArchive = None,
    executor_env: ExecutorEnv = None,
    shared_warehouse: SharedWarehouse = False,
    maintain: Annotated[
        bool, typer.Option(help="Compact and expire the tables of the streams that it runs.")
    ] = True,
    compactors: Annotated[int, typer.Option(min=1, help="Buckets compacted at once.")] = 1,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Run the registered streams as Spark Structured Streaming queries; or list and drain the runners that do so."""
    if context.invoked_subcommand is not None:
        return
    if warehouse is None:
        context.fail("Missing option '--warehouse'.")
    require_extra("spark")
    # Checked before Spark is loaded, which takes seconds.
    from braid.cli.arguments import (
        check_runner,
        ensure_warehouse,
        known_clusters,
        machine_name,
        one_line_errors,
        runner_labels,
        warehouse_path,
    )

    warehouse = warehouse_path(warehouse)
    known = known_clusters(clusters, kafka=kafka)
    name = machine_name() if name is None else name
    check_runner(name=name, streams=stream or (), memory=memory)
    labels = runner_labels(label or ())
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
    ensure_warehouse(warehouse)

    # Here, not above: the service must start without Spark.
    from braid.pipelines.runner_process import main as run
    from braid.pipelines.settings import RunnerSettings

    settings = RunnerSettings(
        warehouse=warehouse,
        name=name,
        clusters=known,
        streams=tuple(stream or ()),
        labels=labels,
        streams_max=max_streams,
        drain_seconds=drain_seconds,
        cores=cores,
        max_share=max_share,
        task_memory_mb=task_memory_mb,
        memory=memory,
        target=target,
        maintains=maintain,
        maintenance_workers=compactors,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
    )
    with one_line_errors():
        status = run(settings, log_format=log_format)
    sys.exit(status)


@app.command("list", epilog="Example: braid runner list")
def list_runners(
    *, api: Api = API, token_file: TokenFile = None, output: Output = OutputFormat.TABLE
) -> None:
    """Print the runners: whether they are alive or drained, their streams and labels."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.runners import runners_text

    with Connection(api=api, token_file=token_file).client() as client:
        found = client.runners()
        print_document(found, output, runners_text(found))


@app.command(epilog="Example: braid runner drain runner-2 --wait")
def drain(
    name: Annotated[str, typer.Argument(help="The runner's name.", metavar="RUNNER")],
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Let it get streams again.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it has no stream any more.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0, help="The longest wait.", metavar="SECONDS")
    ] = 3_600.0,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let a runner give its streams to others, one by one, and get none any more: also its next process, until `--undo`.

    A stream that no other runner may have stays. Exits with 75 if the runner has streams at the end of the wait, and with 3
    if there is nothing to wait for, because no runner has ever had the name.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.api.runners import (
        drain_note,
        drain_text,
        ended_drain,
        exit_of_drain,
        undo_note,
    )

    with Connection(api=api, token_file=token_file).client() as client:
        status = 0
        if undo:
            _tell(undo_note(client.get_drain(name)))
            found = client.undrain_runner(name)
        else:
            found, runners = client.drain_runner(name), client.runners()
            _tell(drain_note(found, runners))
            if wait:
                found = ended_drain(client, name, seconds_max=seconds)
                status = exit_of_drain(found, runners)
        print_document(found, output, drain_text(found))
    sys.exit(status)


def _tell(note: str | None) -> None:
    if note is not None:
        typer.echo(f"note: {note}", err=True)
