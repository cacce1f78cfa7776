"""Declarations of the commands `braid stream …` that use a service: declarations, states and positions of streams."""

from pathlib import Path
from typing import Annotated

import typer

from braid.cli.options import API, Api, Output, StreamName, TableName, TokenFile
from braid.cli.output import OutputFormat

app = typer.Typer()

Wait = Annotated[
    float,
    typer.Option(
        min=0,
        help="Seconds to wait until the runner has followed; 0: do not wait.",
        metavar="SECONDS",
    ),
]


@app.command("list", epilog="Example: braid stream list shop.orders")
def list_streams(
    table: Annotated[
        str | None,
        typer.Argument(help="database.table; by default all tables", metavar="[TABLE]"),
    ] = None,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the streams of a table, or of all tables, as they are declared."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.streams import streams_text
    from braid.cli.api.tables import table_names
    from braid.cli.arguments import check_table
    from braid.cli.output import print_document
    from braid.schemas.api import StreamList

    if table is not None:
        check_table(table)
    with Connection(api=api, token_file=token_file).client() as client:
        names = table_names(client) if table is None else [table]
        streams = [one for name in names for one in client.table(name).streams().streams]
        print_document(StreamList(streams=tuple(streams)), output, streams_text(streams))


@app.command(epilog="Example: braid stream show shop.orders payments --output yaml")
def show(
    table: TableName,
    stream: StreamName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print a stream with all defaults filled in; as text, where its columns are read from."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.streams import stream_text
    from braid.cli.arguments import check_stream
    from braid.cli.output import print_document

    check_stream(table, stream)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).stream(stream).get()
        print_document(found, output, stream_text(found))


@app.command(epilog="Example: braid stream status shop.orders payments")
def status(
    table: TableName,
    stream: StreamName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the state of a stream: lag, position, failure, dead letters. Exits with 1 if it has failed."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.streams import status_text
    from braid.cli.arguments import check_stream
    from braid.cli.exits import EXIT_FAILED
    from braid.cli.output import print_document
    from braid.schemas import StreamState

    check_stream(table, stream)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).stream(stream).status()
        print_document(found, output, status_text(found))
        if found.state is StreamState.FAILED:
            raise typer.Exit(EXIT_FAILED)


@app.command(epilog="Example: braid stream start shop.orders payments --wait 60")
def start(
    table: TableName,
    stream: StreamName,
    *,
    wait: Wait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Run a stream; one that failed or waits tries again at once."""
    _apply_verb("start", table, stream, wait, api, token_file, output)


@app.command(epilog="Example: braid stream pause shop.orders payments")
def pause(
    table: TableName,
    stream: StreamName,
    *,
    wait: Wait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let a stream read nothing for a while; its runner keeps it."""
    _apply_verb("pause", table, stream, wait, api, token_file, output)


@app.command(epilog="Example: braid stream resume shop.orders payments")
def resume(
    table: TableName,
    stream: StreamName,
    *,
    wait: Wait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Continue a stream where it was paused or stopped."""
    _apply_verb("resume", table, stream, wait, api, token_file, output)


@app.command(epilog="Example: braid stream restart shop.orders payments")
def restart(
    table: TableName,
    stream: StreamName,
    *,
    wait: Wait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Replace the query of a stream by a new one."""
    _apply_verb("restart", table, stream, wait, api, token_file, output)


@app.command(epilog="Example: braid stream stop shop.orders payments --wait 60")
def stop(
    table: TableName,
    stream: StreamName,
    *,
    wait: Wait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """End a stream; its position stays in the table."""
    _apply_verb("stop", table, stream, wait, api, token_file, output)


@app.command(epilog="Example: braid stream delete shop.orders payments --yes payments")
def delete(
    table: TableName,
    stream: StreamName,
    *,
    yes: Annotated[
        str | None,
        typer.Option(help="The stream's name again, as the confirmation, instead of a prompt."),
    ] = None,
    api: Api = API,
    token_file: TokenFile = None,
) -> None:
    """Delete a stopped stream; its rows stay, and another stream may own its columns."""
    from braid.cli.api.connection import Connection
    from braid.cli.arguments import check_stream
    from braid.cli.confirmation import confirm_name

    check_stream(table, stream)
    confirm_name(stream, yes, effect="deleted; its rows stay")
    with Connection(api=api, token_file=token_file).client() as client:
        client.table(table).stream(stream).delete()
        typer.echo(f"{table}/{stream}: deleted")


@app.command(epilog="Example: braid stream offsets shop.orders payments --set 0=1200 --dry-run")
def offsets(
    table: TableName,
    stream: StreamName,
    *,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Where a stopped stream continues in a partition. May be repeated.",
            metavar="PARTITION=OFFSET",
        ),
    ] = None,
    beyond_end: Annotated[
        bool, typer.Option("--beyond-end", help="Admit an offset above the known end of the topic.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be read again or skipped.")
    ] = False,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print where a stream continues in its topic, or set it."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.offsets import offsets_request, set_offsets, show_offsets
    from braid.cli.arguments import check_stream

    check_stream(table, stream)
    request = offsets_request(assignments or (), beyond_end=beyond_end, dry_run=dry_run)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).stream(stream)
        if request is None:
            show_offsets(found, output)
        else:
            raise typer.Exit(set_offsets(found, request, is_dry_run=dry_run, output=output))


@app.command(
    epilog="""Example: braid stream push shop.orders payments --value '{"id": 7, "paid": "12.50"}'"""
)
def push(
    table: TableName,
    stream: StreamName,
    *,
    value: Annotated[
        list[str] | None,
        typer.Option(help="The value of a record, as the stream's format has it. May be repeated."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            help="File with a record in each line, as a JSON object with value, key, headers, timestamp_ms; - for standard input.",
            metavar="PATH",
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(
            help="Name of the push: the same push is sent once. Only up to 1,000 records."
        ),
    ] = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Send records to the topic of a stream, and print what became of each. Exits with 1 if one is refused.

    The token that is printed at the end reads rows that have taken the records in: `braid row get --read-after TOKEN`.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.api.pushes import push_records, pushed_records
    from braid.cli.arguments import check_stream

    check_stream(table, stream)
    records = pushed_records(value or (), file, is_named=idempotency_key is not None)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).stream(stream)
        status = push_records(found, records, idempotency_key=idempotency_key, output=output)
    raise typer.Exit(status)


def _apply_verb(
    verb: str,
    table: str,
    stream: str,
    wait: float,
    api: str,
    token_file: Path | None,
    output: OutputFormat,
) -> None:
    """Change the desired state of a stream, and exit with 1 if it does not get there in the time to wait."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.verbs import apply_verb
    from braid.cli.arguments import check_stream

    check_stream(table, stream)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).stream(stream)
        raise typer.Exit(apply_verb(found, verb, wait_seconds=wait, output=output))
