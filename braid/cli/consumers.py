"""Implementation of `braid table consumer` with a warehouse (declared in `consumer_cli`), and the text of a list of consumers."""

import typer

from braid.cli.audit import record
from braid.cli.output import NOTHING, OutputFormat, TextTable, cell, print_document
from braid.lake import Catalog
from braid.schemas import AuditAction
from braid.schemas.api import ConsumerList
from braid.service.control.consumers import consumer_change, list_consumers


def show(warehouse: str, identifier: str, *, output: OutputFormat) -> int:
    """Print consumers and leases; return the exit status.

    Raises:
        LakeError: What `Table.consumers` raises.
    """
    found = list_consumers(Catalog(warehouse).table(identifier))
    print_document(found, output, consumers_text(found))
    return 0


def reset(warehouse: str, identifier: str, consumer: str, snapshot: int) -> int:
    """Set the oldest snapshot that a consumer needs; return the exit status.

    Raises:
        LakeError: What `Table.reset_consumer` raises.
    """
    table = Catalog(warehouse).table(identifier)
    change = consumer_change(table, consumer, after=snapshot)
    record(warehouse, identifier, AuditAction.PUT_CONSUMER, change)
    table.reset_consumer(consumer, snapshot)
    typer.echo(reset_line(identifier, consumer, snapshot))
    return 0


def delete(warehouse: str, identifier: str, consumer: str) -> int:
    """Delete a consumer; return the exit status.

    Raises:
        LakeError: What `Table.delete_consumer` raises.
    """
    table = Catalog(warehouse).table(identifier)
    change = consumer_change(table, consumer, after=None)
    if change.before is not None:
        record(warehouse, identifier, AuditAction.DELETE_CONSUMER, change)
    is_deleted = table.delete_consumer(consumer)
    result = f"consumer {consumer} is deleted" if is_deleted else f"no consumer {consumer}"
    typer.echo(f"{identifier}: {result}")
    return 0


def consumers_text(found: ConsumerList) -> TextTable:
    """Return a line for each consumer and lease."""
    columns = ("consumer", "next snapshot", "written at", "leased until", "holder", "error")
    rows = [
        (
            one.id,
            cell(one.next_snapshot_id),
            one.written_at,
            one.leased_until or NOTHING,
            one.holder or NOTHING,
            one.error or NOTHING,
        )
        for one in found.consumers
    ]
    return TextTable(columns=columns, rows=rows, numbers=frozenset({"next snapshot"}))


def reset_line(identifier: str, consumer: str, snapshot: int) -> str:
    """Return what the reset of a consumer prints."""
    return f"{identifier}: consumer {consumer} continues at snapshot {snapshot}"
