"""Declarations of the commands `braid row …`: rows of a table by key, and why they have their values, over HTTP."""

from pathlib import Path
from typing import Annotated, Any

import typer

from braid.cli.options import (
    API,
    Api,
    Output,
    Snapshot,
    TableName,
    Tag,
    Timestamp,
    TokenFile,
)
from braid.cli.output import OutputFormat

app = typer.Typer(
    no_args_is_help=True, help="Read rows by key, and see why they have their values."
)

Key = Annotated[
    list[str],
    typer.Argument(help="A value for each column of the primary key.", metavar="COLUMN=VALUE..."),
]
Generated = Annotated[
    bool, typer.Option("--generated", help="Show the generated columns of sequence groups, too.")
]


@app.command(epilog="Example: braid row get shop.orders id=7 --columns total,carrier")
def get(
    table: TableName,
    key: Key,
    *,
    columns: Annotated[
        str | None, typer.Option(help="Column names, comma-separated; by default all.")
    ] = None,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    read_after: Annotated[
        str | None, typer.Option(help="Token of a push, whose records the row must have taken in.")
    ] = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print a row."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.keys import names_of
    from braid.cli.api.rows import row_text
    from braid.cli.output import print_document

    values, state = _request(table, key, snapshot=snapshot, tag=tag, timestamp=timestamp)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).row(
            values, columns=names_of(columns), read_after=read_after, **state
        )
        print_document(found, output, row_text(found.row))


@app.command(epilog="Example: braid row status shop.orders id=7")
def status(
    table: TableName,
    key: Key,
    *,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print which streams have delivered their part of a row, and whether it is complete."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.rows import status_text
    from braid.cli.output import print_document

    values, state = _request(table, key, snapshot=snapshot, tag=tag, timestamp=timestamp)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).row_status(values, **state)
        print_document(found, output, status_text(found))


@app.command(epilog="Example: braid row explain shop.orders id=7")
def explain(
    table: TableName,
    key: Key,
    *,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="With JSON or YAML: the records of topics as well."),
    ] = False,
    generated: Generated = False,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print why a row has its values: for each column the record that gives it, and why others do not."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.explanation_text import explanation_text
    from braid.cli.output import print_document

    values, state = _request(table, key, snapshot=snapshot, tag=tag, timestamp=timestamp)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).explain(values, raw=raw, **state)
        if output is OutputFormat.TABLE and not found.exists:
            typer.echo(f"{table} has no such row", err=True)
        print_document(found, output, explanation_text(found, with_generated=generated))


@app.command(
    "what-if",
    epilog="""Example: braid row what-if shop.orders id=7 --stream sales --value '{"id": 7, "total": "14.00"}'""",
)
def what_if(
    table: TableName,
    key: Key,
    *,
    stream: Annotated[
        str, typer.Option(help="Stream that the record arrives in.", metavar="STREAM")
    ],
    value: Annotated[
        str | None, typer.Option(help="The record's value; without it, the record is a tombstone.")
    ] = None,
    record_key: Annotated[str | None, typer.Option(help="The record's Kafka key.")] = None,
    record_file: Annotated[
        Path | None,
        typer.Option(
            help="JSON file with the record instead: key, value, headers, partition, offset, timestamp_ms.",
            metavar="FILE",
        ),
    ] = None,
    generated: Generated = False,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print how a row would change if a record arrived now; nothing is written."""
    from braid.cli.api.suppositions import arriving_record

    record = arriving_record(stream, value=value, key=record_key, file=record_file)
    state = {"snapshot": snapshot, "tag": tag, "timestamp": timestamp}
    _suppose(table, key, state, {"what_if": record}, generated, api, token_file, output)


@app.command(epilog="Example: braid row without shop.orders id=7 --stream sales --from-offset 1200")
def without(
    table: TableName,
    key: Key,
    *,
    stream: Annotated[
        str, typer.Option(help="Stream whose records are left out.", metavar="STREAM")
    ],
    from_offset: Annotated[
        int | None, typer.Option(min=0, help="Leave out only records from this offset on.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option(min=0, help="Leave out only records of this Kafka partition.")
    ] = None,
    generated: Generated = False,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print how a row would be without some records of a stream; nothing is written."""
    from braid.cli.api.suppositions import left_out_records

    records = left_out_records(stream, from_offset=from_offset, partition=partition)
    state = {"snapshot": snapshot, "tag": tag, "timestamp": timestamp}
    _suppose(table, key, state, {"without": records}, generated, api, token_file, output)


def _request(
    table: str, key: list[str], *, snapshot: int | None, tag: str | None, timestamp: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the values of the key, and the state to read as arguments of the client; exit for wrong ones."""
    from braid.cli.api.keys import values_of
    from braid.cli.arguments import check_table, refuse

    check_table(table)
    values = values_of("COLUMN=VALUE", key)
    state = {"snapshot_id": snapshot, "tag": tag, "timestamp": timestamp}
    given = {name: value for name, value in state.items() if value is not None}
    for name in values.keys() & given.keys():
        option = name.removesuffix("_id")
        refuse(
            f"--{option}",
            given[name],
            f"cannot be given for a table whose key has the column {name}",
        )
    return values, given


def _suppose(
    table: str,
    key: list[str],
    state: dict[str, Any],
    hypothesis: dict[str, Any],
    generated: bool,
    api: str,
    token_file: Path | None,
    output: OutputFormat,
) -> None:
    """Print how a row would be."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.explanation_text import changes_text
    from braid.cli.api.rows import result_line
    from braid.cli.output import print_document

    values, read = _request(table, key, **state)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).suppose(values, **hypothesis, **read)
        if output is OutputFormat.TABLE:
            if found.result is not None:
                typer.echo(result_line(found.result))
            if not found.changed and not found.unknown:
                typer.echo("no column would have another value")
                return
        print_document(found, output, changes_text(found, with_generated=generated))
