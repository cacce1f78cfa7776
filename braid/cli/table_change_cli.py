"""Declarations of the commands `braid table alter` and `braid table rollback`, which use a service or a warehouse."""

import sys
from typing import Annotated

import typer

from braid.cli.alter_clauses import FORMS, NAMES
from braid.cli.options import (
    API,
    Api,
    OperationWait,
    TableName,
    TokenFile,
    WarehouseInsteadOfApi,
)
from braid.cli.table_run import request_work, run_on_table

app = typer.Typer()


@app.command(epilog="Example: braid table alter shop.orders 'ADD note STRING'")
def alter(
    table: TableName,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            help="\n\n".join((*FORMS.values(), NAMES)),
            metavar="CHANGE...",
        ),
    ] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option(
            help="File with the changes as JSON, as in the HTTP API; - for standard input.",
            metavar="PATH",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the changes without making them.")
    ] = False,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Change columns and options, atomically, while readers and streams use the table."""
    from braid.cli.alter_arguments import requested_changes
    from braid.cli.arguments import check_table

    check_table(table)
    found = requested_changes(changes or (), file)
    if warehouse is None:
        from braid.cli.api.connection import Connection
        from braid.cli.api.schema_changes import change_schema

        with Connection(api=api, token_file=token_file).client() as client:
            status = change_schema(client.table(table), found, is_dry_run=dry_run)
        sys.exit(status)
    from braid.cli.alter import alter as alter_table

    run_on_table(warehouse, table, lambda path: alter_table(path, table, found, is_dry_run=dry_run))


@app.command(
    epilog="Example: braid table rollback shop.orders --tag january --yes shop.orders --wait 60"
)
def rollback(
    table: TableName,
    *,
    snapshot: Annotated[int | None, typer.Option(min=1, help="Snapshot to roll back to.")] = None,
    tag: Annotated[str | None, typer.Option(help="Tag to roll back to.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be lost, without a rollback.")
    ] = False,
    yes: Annotated[
        str | None,
        typer.Option(help="The table's name again, as the confirmation, instead of a prompt."),
    ] = None,
    wait: OperationWait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Roll a table back to a snapshot or a tag; its streams have to be stopped, and all later snapshots are lost."""
    from braid.cli.arguments import check_table, refuse
    from braid.cli.confirmation import confirm_name
    from braid.schemas import RollbackRequest

    check_table(table)
    if (snapshot is None) == (tag is None):
        refuse("--snapshot", snapshot, "expected either --snapshot or --tag")
    request = RollbackRequest(snapshot_id=snapshot, tag=tag)
    if not dry_run:
        target = f"snapshot {snapshot}" if tag is None else f"tag {tag}"
        confirm_name(table, yes, effect=f"rolled back to {target}; all later snapshots are lost")
    if warehouse is not None:
        from braid.cli.rollback import roll_back

        run_on_table(
            warehouse, table, lambda path: roll_back(path, table, request, is_dry_run=dry_run)
        )
    if dry_run:
        from braid.cli.api.connection import Connection
        from braid.cli.api.validations import show_validation

        with Connection(api=api, token_file=token_file).client() as client:
            checked = client.table(table).validate_rollback(request)
        sys.exit(show_validation(checked))
    request_work(
        table, api, token_file, wait, lambda found: found.roll_back(request, confirm=table)
    )
