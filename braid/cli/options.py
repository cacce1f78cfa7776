"""Options that several commands have: `--warehouse`, `--clusters`, `--log-format`, `--metrics-port`, `--metrics-host`."""

from pathlib import Path
from typing import Annotated

import typer

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
Clusters = Annotated[
    Path | None,
    typer.Option(
        "--clusters",
        help="TOML file with the Kafka clusters and schema registries that streams may use.",
        metavar="FILE",
    ),
]
