"""Commands `braid explain …`: verification of the certificate of a row."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Verify why a row has its values.")

# Checked before the file is read: the service writes no larger ones.
_BYTES_MAX = 16 << 20


@app.callback()
def _explain() -> None:
    """Keep `verify` a command of its own name: typer would drop the name of a single command."""


@app.command(epilog="Example: braid explain verify row.json")
def verify(
    certificate: Annotated[
        Path,
        typer.Argument(help="The answer of `GET …/rows/certificate`.", exists=True, dir_okay=False),
    ],
) -> None:
    """Merge the records of a certificate again, and compare the row. The table is not needed; exit code 1: it differs."""
    from braid.cli.arguments import one_line_errors, refuse
    from braid.formats.row_certificate import differences, parse_certificate

    if certificate.stat().st_size > _BYTES_MAX:
        refuse(
            "certificate", str(certificate), f"expected a file of at most {_BYTES_MAX >> 20} MiB"
        )
    with one_line_errors():
        given = parse_certificate(certificate.read_bytes())
        found = differences(given)
    key = ", ".join(f"{name} = {value}" for name, value in given.key.items())
    where = "no snapshot" if given.snapshot is None else f"snapshot {given.snapshot.id}"
    row = f"{given.table}, {key}, {where}"
    if not found:
        typer.echo(f"equal: {row}: {len(given.records)} records merge into the certified row")
        return
    typer.echo(f"different: {row}")
    for one in found:
        name = one.column or "(existence)"
        typer.echo(f"  {name}: certified {one.certified}, merged {one.merged}")
    raise typer.Exit(1)
