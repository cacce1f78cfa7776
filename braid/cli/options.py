"""The options that several commands have, such as `--warehouse`, `--api` and `--output`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from braid.cli.output import OutputFormat
from braid.telemetry.logs import LogFormat

Warehouse = Annotated[
    str,
    typer.Option(
        "--warehouse",
        help="Folder or address (s3://…) that holds the tables and the registry.",
        metavar="PATH",
    ),
]
LogFormatOption = Annotated[
    LogFormat,
    typer.Option("--log-format", help="Form of the lines of the log: text, or JSON with fields."),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        min=0,
        max=65_535,
        help="Port for `/metrics`, `/health` and `/ready`; 0 for any free port. Without it none is opened.",
    ),
]
MetricsHost = Annotated[str, typer.Option("--metrics-host", help="Address to listen at for these.")]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="Cluster whose executors run the tasks: spark://host:port, yarn or k8s://…; by default this machine.",
        metavar="URL",
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        help="Setting of Spark, such as spark.executor.memory=2g. May be repeated.",
        metavar="KEY=VALUE",
    ),
]
ExecutorPython = Annotated[
    str | None,
    typer.Option(
        "--python",
        help="With --master: Python of the executors; by default this one's path, with --archive its name.",
        metavar="PATH",
    ),
]
ExecutorArchive = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        help="With --master: archive of `braid prepare` with the packages that executors lack.",
        metavar="FILE",
    ),
]
ExecutorEnv = Annotated[
    list[str] | None,
    typer.Option(
        "--executor-env",
        help="With --master: variable that executors get from this process. May be repeated.",
        metavar="NAME",
    ),
]
SharedWarehouse = Annotated[
    bool,
    typer.Option(
        "--shared-warehouse",
        help="With --master: the warehouse's folder is the same on every machine.",
    ),
]
WarehouseInsteadOfApi = Annotated[
    str | None,
    typer.Option(
        "--warehouse",
        help="Folder or address (s3://…) that holds the tables and the registry; the command then uses it without a service.",
        metavar="PATH",
    ),
]
Clusters = Annotated[
    Path | None,
    typer.Option(
        "--clusters",
        help="TOML file with the Kafka clusters and schema registries that streams may use.",
        metavar="FILE",
    ),
]
Kafka = Annotated[
    str | None,
    typer.Option(help="Bootstrap servers of the cluster `default`: host:port,…", metavar="SERVERS"),
]
Api = Annotated[
    str,
    typer.Option("--api", envvar="BRAID_API", help="Address of the service.", metavar="URL"),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with the token for the service; by default the token is in BRAID_TOKEN, if it needs one.",
        envvar="BRAID_TOKEN_FILE",
        metavar="FILE",
    ),
]
Output = Annotated[
    OutputFormat,
    typer.Option("--output", "-o", help="Form of the output: text for people, JSON or YAML."),
]
TableName = Annotated[str, typer.Argument(help="database.table", metavar="TABLE")]
StreamName = Annotated[str, typer.Argument(help="Name of the stream.", metavar="STREAM")]
OperationWait = Annotated[
    float,
    typer.Option(
        "--wait",
        min=0,
        help="Through a service: seconds to wait for the end of the operation; 0: only request it.",
        metavar="SECONDS",
    ),
]
Snapshot = Annotated[
    int | None, typer.Option(min=1, help="Id of the snapshot to read; by default the newest.")
]
Tag = Annotated[str | None, typer.Option(help="Tag to read instead.")]
Timestamp = Annotated[
    str | None,
    typer.Option(
        help="Read the newest snapshot at or before this time: 2026-01-31T05:15Z, or milliseconds."
    ),
]

API: Final = "http://127.0.0.1:8080"
"""The address at which `braid service` listens by default."""
