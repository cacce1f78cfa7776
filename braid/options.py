"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

Warehouse = Annotated[
    str,
    typer.Option(
        "--warehouse",
        help="Folder or address (s3://…) of the tables and the registry.",
        metavar="PATH",
    ),
]
Clusters = Annotated[
    Path | None,
    typer.Option(
        "--clusters",
        help="TOML file that names the Kafka clusters which streams may read from.",
        metavar="FILE",
    ),
]
