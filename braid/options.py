"""Options that several commands take."""

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
