"""Command line `braid`: declares the processes, such as `service` and `runner`, and `test`, `compact`, `maintain`; adds the other commands.

Each command imports the modules that it needs only when it runs, because the service must not load Spark,
and a runner must not load the web framework. The demo parses its arguments itself.
"""

import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from braid.cli.completion import Shell, completion_script, prepare_completion
from braid.cli.deployment_cli import app as deployment_app
from braid.cli.explain_cli import app as explain_app
from braid.cli.extras import require_extra
from braid.cli.json_schemas import Declared, json_schema
from braid.cli.operation_cli import app as operation_app
from braid.cli.options import (
    API,
    Api,
    Clusters,
    ExecutorArchive,
    ExecutorEnv,
    ExecutorPython,
    LogFormatOption,
    Master,
    MetricsHost,
    MetricsPort,
    OperationWait,
    Output,
    SharedWarehouse,
    SparkConf,
    TokenFile,
    Warehouse,
    WarehouseInsteadOfApi,
)
from braid.cli.output import OutputFormat
from braid.cli.row_cli import app as row_app
from braid.cli.runner_cli import app as runner_app
from braid.cli.stream_cli import app as stream_app
from braid.cli.submitted import is_submitted
from braid.cli.table_cli import app as table_app
from braid.cli.token_cli import app as token_app
from braid.telemetry.logs import LogFormat

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Many streams, one wide row.",
)
app.add_typer(deployment_app)
app.add_typer(runner_app, name="runner")
app.add_typer(table_app, name="table")
app.add_typer(stream_app, name="stream")
app.add_typer(row_app, name="row")
app.add_typer(operation_app, name="operation")
app.add_typer(explain_app, name="explain")
app.add_typer(token_app, name="token")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"braid {version('braid-lake')}")
        raise typer.Exit


@app.callback()
def _braid(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Many streams, one wide row."""


@app.command(epilog="Example: braid service --warehouse /data/warehouse --clusters clusters.toml")
def service(
    *,
    warehouse: Warehouse,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any free port.")
    ] = 8080,
    clusters: Clusters = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Host name that requests may be addressed to; `*` for any. May be repeated."
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="Origin of web pages that may send changes. May be repeated."),
    ] = None,
    access_control: Annotated[
        bool,
        typer.Option(
            "--access-control/--no-access-control",
            help="Whether clients need access tokens. Without, only loopback addresses can be listened on.",
        ),
    ] = True,
    issuers: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with the issuers of JSON Web Tokens whose clients may use the service.",
            metavar="FILE",
        ),
    ] = None,
    tls_certificate: Annotated[
        Path | None,
        typer.Option(
            help="Certificate with which the service speaks TLS (1.2 or newer), and those between it and the "
            "authority's; PEM.",
            metavar="FILE",
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            help="Private key of the certificate, without a password; PEM.", metavar="FILE"
        ),
    ] = None,
    lookup_directory: Annotated[
        str | None,
        typer.Option(
            help="Folder on local disk for the copies of data files that lookups use.",
            metavar="PATH",
        ),
    ] = None,
    lookup_disk_mb: Annotated[
        int | None,
        typer.Option(
            min=0, help="Largest size of these copies; by default half of the free space."
        ),
    ] = None,
    lookup_memory_mb: Annotated[
        int,
        typer.Option(min=0, help="Largest size of the small files that lookups keep in memory."),
    ] = 1024,
    follow_ms: Annotated[
        int,
        typer.Option(
            min=0,
            max=60_000,
            help="Milliseconds between two looks for new snapshots of a table in use; 0: each request "
            "looks.",
        ),
    ] = 100,
    operation_workers: Annotated[
        int,
        typer.Option(
            min=0,
            max=16,
            help="Operations, such as compactions over HTTP, that a process carries out at once; 0: others do.",
        ),
    ] = 2,
    audit_retention: Annotated[
        str, typer.Option(help="Age from which entries of the audit log are deleted.")
    ] = "365 d",
    report_retention: Annotated[
        str,
        typer.Option(
            help="Age from which reports of runners that are gone are deleted, once other runners have reported their streams."
        ),
    ] = "7 d",
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            max=3_600,
            help="After SIGTERM: seconds in which `/ready` is 503 and requests are still accepted, so that load balancers turn away.",
        ),
    ] = 0.0,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            help="Processes that serve, of which each uses one core. They share the copies of data files on disk.",
        ),
    ] = 1,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Serve the HTTP API: tables, streams, their states, and rows."""
    require_extra("service")
    # Here, not above: a runner must not load the web framework.
    from braid.cli.arguments import (
        duration_ms,
        ensure_warehouse,
        known_clusters,
        one_line_errors,
        refuse,
        warehouse_path,
    )
    from braid.lake import LookupSettings
    from braid.service.http.certificates import CertificateFiles
    from braid.service.issuers import load_issuers
    from braid.service.server import serve
    from braid.service.settings import AccessSettings, ServiceSettings

    warehouse = warehouse_path(warehouse)
    known = known_clusters(clusters)
    audit_retention_ms = duration_ms("--audit-retention", audit_retention)
    report_retention_ms = duration_ms("--report-retention", report_retention)
    certificate = None
    if tls_certificate is not None and tls_key is not None:
        certificate = CertificateFiles(certificate=tls_certificate, key=tls_key)
    elif tls_certificate is not None or tls_key is not None:
        refuse("--tls-certificate", str(tls_certificate), "expected together with `--tls-key`")
    access = None
    if access_control:
        with one_line_errors():
            access = AccessSettings(issuers=() if issuers is None else load_issuers(issuers))
    elif issuers is not None:
        refuse("--issuers", str(issuers), "expected without `--no-access-control`")
    ensure_warehouse(warehouse)
    make_producer = None
    if known.allow_pushes:
        from braid.pipelines.kafka.record_producer import KafkaRecordProducer

        make_producer = partial(KafkaRecordProducer, known)
    make_topic_records = None
    if known.show_records:
        from braid.pipelines.kafka.topic_record_reader import KafkaTopicRecords

        make_topic_records = partial(KafkaTopicRecords, known)
    with one_line_errors():
        lookups = LookupSettings(
            directory=lookup_directory,
            max_disk_bytes=None if lookup_disk_mb is None else lookup_disk_mb << 20,
            max_memory_bytes=lookup_memory_mb << 20,
        )
        serve(
            ServiceSettings(
                warehouse=warehouse,
                host=host,
                port=port,
                lookups=lookups,
                clusters=known,
                hosts=tuple(allow_host or ()),
                origins=tuple(allow_origin or ()),
                drain_seconds=drain_seconds,
                access=access,
                follow_ms=follow_ms,
                audit_retention_ms=audit_retention_ms,
                report_retention_ms=report_retention_ms,
                operation_workers=operation_workers,
            ),
            workers=workers,
            make_producer=make_producer,
            make_topic_records=make_topic_records,
            log_format=log_format,
            certificate=certificate,
        )


@app.command(epilog="Example: braid prepare --archive braid.tar.gz")
def prepare(
    *,
    clusters: Clusters = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            help="Also make an archive of the packages that executors of a cluster need: a name that ends with .tar.gz.",
            metavar="FILE",
        ),
    ] = None,
    package: Annotated[
        list[str] | None,
        typer.Option(
            help="With --archive: further installed package that tasks need. May be repeated.",
            metavar="NAME",
        ),
    ] = None,
    code_only: Annotated[
        bool,
        typer.Option(
            "--code-only",
            help="With --archive: leave out what Braid depends on, because executors have it.",
        ),
    ] = False,
) -> None:
    """Download the runner's jars, archive the classes of Spark's JVM, and the packages that executors of a cluster need.

    Runners start faster with the archive of classes. The archive of packages is made only with --archive, and only if it is
    not up to date.
    """
    require_extra("spark")
    from braid.cli.arguments import known_clusters
    from braid.cli.prepare import prepare as run

    known = known_clusters(clusters, kafka=None)
    status = run(
        [Path(jar) for jar in known.jars],
        archive=archive,
        packages=package or (),
        is_code_only=code_only,
    )
    sys.exit(status)


@app.command(
    epilog="Example: braid demo --scale 0.05",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def demo(context: typer.Context) -> None:
    """Run the flights demo on real data: its own Kafka broker, runner and service."""
    require_extra("demo")
    # Here, not above, as for the other commands.
    from braid.demo.flights import main as run

    sys.exit(run(context.args, prog=context.command_path))


@app.command(
    epilog="Example: braid completion bash > ~/.local/share/bash-completion/completions/braid"
)
def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.", metavar="SHELL")],
) -> None:
    """Print the script that lets a shell complete commands and options: bash, zsh or fish."""
    typer.echo(completion_script(shell))


@app.command(epilog="Example: braid schema declaration > braid.schema.json")
def schema(
    declared: Annotated[
        Declared, typer.Argument(help="What the JSON Schema describes.", metavar="KIND")
    ] = Declared.DECLARATION,
) -> None:
    """Print a JSON Schema of declarations, for editors: declaration, definition-file, table or stream.

    With the comment `# yaml-language-server: $schema=braid.schema.json` at the beginning of a file, an editor completes and checks it.
    """
    typer.echo(json_schema(declared), nl=False)


@app.command("test", epilog="Example: braid test shop/orders.yaml")
def run_tests(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="YAML or JSON files with the declarations of tables and their streams.",
            metavar="FILE...",
        ),
    ],
    *,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Run the tests of declared tables, without a service, Kafka or Spark."""
    # Here, not above, as for the other commands.
    from braid.cli.table_tests import run

    sys.exit(run(files, output=output))


@app.command(epilog="Example: braid compact shop.orders --wait 600")
def compact(
    tables: Annotated[list[str], typer.Argument(help="database.table", metavar="TABLE...")],
    *,
    due: Annotated[
        bool, typer.Option("--due", help="Compact only what is due, instead of everything.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --warehouse: buckets compacted at once, one commit each; by default one after the other, on a cluster 4 at once.",
        ),
    ] = None,
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
    """Merge the files of tables into one sorted run per bucket, beside any writers.

    A service does it as an operation for each table. With --warehouse, this process does it, or with --master the
    executors of a Spark cluster.
    """
    # Here, not above, as for the other commands.
    from braid.cli.arguments import (
        check_table,
        refuse,
        refuse_without_master,
        warehouse_path,
    )

    for table in tables:
        check_table(table)
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
        from braid.cli.api.connection import Connection
        from braid.cli.api.operation_wait import follow

        for option, value in (("--workers", workers), ("--master", master)):
            if value is not None:
                refuse(option, value, "expected together with --warehouse")
        with Connection(api=api, token_file=token_file).client() as client:
            begun = [client.table(table).compact({"full": not due}) for table in tables]
            status = follow(client, begun, wait_seconds=wait)
        sys.exit(status)
    from braid.cli.compaction import compact_tables

    path = warehouse_path(warehouse)
    if is_local:
        sys.exit(compact_tables(path, tables, full=not due, workers=workers))
    require_extra("spark")
    # A command without a cluster must not load Spark.
    from braid.cli.arguments import one_line_errors
    from braid.cli.spark_pool import spark_pool
    from braid.cli.spark_target import spark_target

    target = spark_target(
        warehouse=path,
        master=master,
        conf=conf or (),
        python=python,
        archive=archive,
        executor_env=executor_env or (),
        is_warehouse_shared=shared_warehouse,
    )
    new_pool = partial(spark_pool, target, warehouse=path, parallel=workers)
    with one_line_errors():
        status = compact_tables(path, tables, full=not due, workers=workers, new_pool=new_pool)
    sys.exit(status)


@app.command(epilog="Example: braid maintain --warehouse /data/warehouse --once")
def maintain(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="database.table; by default all tables of the warehouse", metavar="TABLE..."
        ),
    ] = None,
    *,
    warehouse: Warehouse,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two checks for due work.")
    ] = 5.0,
    workers: Annotated[int, typer.Option(min=1, help="Buckets compacted at once.")] = 1,
    expire: Annotated[bool, typer.Option(help="Expire old snapshots as well.")] = True,
    once: Annotated[
        bool, typer.Option("--once", help="Do the work that is due now, and exit.")
    ] = False,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Compact buckets and expire snapshots when due, until Ctrl-C or SIGTERM."""
    # Here, not above, as for the other commands.
    from braid.cli.arguments import check_table, existing_warehouse, one_line_errors
    from braid.cli.maintenance import maintain as run

    warehouse = existing_warehouse(warehouse)
    for table in tables or ():
        check_table(table)
    with one_line_errors():
        status = run(
            warehouse,
            tables or (),
            every_s=every,
            workers=workers,
            expires=expire,
            is_once=once,
            metrics_at=None if metrics_port is None else (metrics_host, metrics_port),
            log_format=log_format,
        )
    sys.exit(status)


def main() -> None:
    """Run the command line and exit with its status."""
    prepare_completion()
    app()
