"""The options `--warehouse` and `--clusters`, which several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Warehouse = Annotated[
    str,
    typer.Option(
        "--warehouse",
        help="Folder or address (s3://…) that holds the tables and the registry.",
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
