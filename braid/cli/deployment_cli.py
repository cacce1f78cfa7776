"""Declarations of the commands about a deployment as a whole: `braid apply`, `export`, `import`, `watch`, `doctor` and `audit`."""

import sys
from typing import Annotated

import typer

from braid.cli.options import (
    API,
    Api,
    Clusters,
    Kafka,
    Output,
    TokenFile,
    WarehouseInsteadOfApi,
)
from braid.cli.output import OutputFormat
from braid.schemas import DesiredState

app = typer.Typer()


@app.command(epilog="Example: braid apply -f shop/ --dry-run")
def apply(
    *,
    files: Annotated[
        list[str],
        typer.Option(
            "--file",
            "-f",
            help="YAML or JSON file with declarations, a folder of such files, or - for standard input. May be repeated.",
            metavar="PATH",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Delete the streams of the declared tables that no file declares. Tables are never deleted.",
        ),
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="With --prune: delete only streams that have this label, name=value or name. May be repeated: all of them.",
            metavar="LABEL",
        ),
    ] = None,
    drop_columns: Annotated[
        bool,
        typer.Option("--drop-columns", help="Drop the columns that no file declares any more."),
    ] = False,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make tables and streams as files declare them: creates, changes and, on demand, deletes.

    The plan is printed first, with each field that changes. What is as declared already stays as it is.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.apply.command import apply as run
    from braid.cli.apply.pruning import requested_pruning

    status = run(
        Connection(api=api, token_file=token_file),
        files,
        is_dry_run=dry_run,
        is_confirmed=yes,
        pruning=requested_pruning(is_wanted=prune, labels=label or ()),
        drops_columns=drop_columns,
        output=output,
    )
    sys.exit(status)


@app.command(epilog="Example: braid export 'shop.*' > shop.yaml")
def export(
    table: Annotated[
        str | None,
        typer.Argument(
            help="Pattern of database.table, such as shop.*; by default all tables.",
            metavar="[PATTERN]",
        ),
    ] = None,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.YAML,
) -> None:
    """Print the declarations of tables and streams, with all defaults filled in; `braid apply` reads them as YAML.

    Exits with 1 if a table cannot be read and is missing.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.api.declarations import export as run

    with Connection(api=api, token_file=token_file).client() as client:
        status = run(client, table=table, output=output)
    sys.exit(status)


@app.command("import", epilog="Example: braid import shop.yaml --dry-run")
def import_declarations(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files with declarations, folders with such files; `-`: standard input.",
            metavar="FILE...",
        ),
    ],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be done.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Change what is registered with another declaration; else it stays."
        ),
    ] = False,
    initial_state: Annotated[
        DesiredState | None,
        typer.Option(help="State of each new stream; by default that of its declaration."),
    ] = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Register the tables and streams of files; what is registered already stays as it is.

    Each is registered by itself: one that is refused does not keep the others from being registered.
    Exits with 4 if something is registered with another declaration, and with 2 if a declaration breaks rules.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.api.declaration_import import ImportOptions, import_files

    options = ImportOptions(is_dry_run=dry_run, replaces=replace, initial_state=initial_state)
    with Connection(api=api, token_file=token_file).client() as client:
        status = import_files(client, sources, options, output)
    sys.exit(status)


@app.command(epilog="Example: braid watch shop.orders --every 5")
def watch(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="database.table; by default all tables", metavar="[TABLE...]"),
    ] = None,
    *,
    every: Annotated[
        float, typer.Option(min=0.2, help="Seconds between two rounds.", metavar="SECONDS")
    ] = 2.0,
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Print one round; the exit status is 1 if a stream has failed."
        ),
    ] = False,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show streams live: state, lag in seconds and records, rate; the worst first.

    Where the output is no terminal, each round prints a JSON object for each stream.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.arguments import check_table
    from braid.cli.watch.command import watch as run

    for table in tables or ():
        check_table(table)
    status = run(
        Connection(api=api, token_file=token_file),
        tables or (),
        every_seconds=every,
        is_once=once,
        output=output,
    )
    sys.exit(status)


@app.command(epilog="Example: braid doctor --warehouse /data/warehouse --clusters clusters.toml")
def doctor(
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    clusters: Clusters = None,
    kafka: Kafka = None,
    lookup_directory: Annotated[
        str | None,
        typer.Option(
            help="Folder in which the service keeps copies of data files; by default that for temporary files.",
            metavar="PATH",
        ),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check a deployment, and say what to do about each finding. Exits with 1 if something is wrong.

    Through a service: streams, compaction. With --warehouse also the storage, its clock, the holders of streams, and Kafka with the topics of streams. Both
    check this machine: versions, Java, jars, disk.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.doctor.command import doctor as run

    status = run(
        Connection(api=api, token_file=token_file),
        warehouse,
        clusters=clusters,
        kafka=kafka,
        lookup_directory=lookup_directory,
        output=output,
    )
    sys.exit(status)


@app.command(epilog="Example: braid audit --table shop.orders")
def audit(
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    table: Annotated[
        str | None, typer.Option(help="Only changes of this table: database.table.")
    ] = None,
    stream: Annotated[
        str | None, typer.Option(help="Only changes of streams of this name.")
    ] = None,
    actor: Annotated[str | None, typer.Option(help="Only changes by this token or user.")] = None,
    action: Annotated[
        str | None, typer.Option(help="Only changes of this kind, such as put_stream.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="From this time on: 2026-01-31T05:15Z, or milliseconds.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Entries to print, the newest first.")] = 100,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print who changed what, when and from where, with the values before and after."""
    from braid.cli.arguments import existing_warehouse, one_line_errors
    from braid.cli.audit import entries_of_warehouse, requested_filter, show

    conditions = requested_filter(
        table=table, stream=stream, actor=actor, action=action, since=since, until=until
    )
    if warehouse is None:
        from braid.cli.api.audit import entries_of_service
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            show(entries_of_service(client, conditions), limit=limit, output=output)
        return
    path = existing_warehouse(warehouse)
    with one_line_errors():
        show(entries_of_warehouse(path, conditions), limit=limit, output=output)
