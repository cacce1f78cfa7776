"""Implementation of `braid table expire` and `braid table consumer` (declared in `table_cli`).

Results are printed on stdout, one per line. Consumers that an expiry has deleted are named on
stderr.
"""

from datetime import UTC, datetime

import typer

from braid.cli.audit import record
from braid.lake import Catalog, Clock, ExpiryResult, SystemClock
from braid.schemas import AuditAction
from braid.service.control.consumers import consumer_change


def expire(
    warehouse: str,
    identifier: str,
    *,
    retain_min: int | None,
    retain_max: int | None,
    older_than_age_ms: int | None,
    is_dry_run: bool,
    clock: Clock | None = None,
) -> int:
    """Expire snapshots and print what was done; return the exit status.

    Raises:
        LakeError: What `Table.expire` raises.
    """
    table = Catalog(warehouse).table(identifier)
    now_ms = (clock or SystemClock()).now_ms()
    result = table.expire(
        retain_min=retain_min,
        retain_max=retain_max,
        older_than_ms=None if older_than_age_ms is None else now_ms - older_than_age_ms,
        dry_run=is_dry_run,
    )
    for name in result.consumers:
        typer.echo(f"{identifier}: consumer {name} was not renewed and is deleted", err=True)
    typer.echo(f"{identifier}: {_summary(result, is_dry_run=is_dry_run)}")
    return 0


def list_consumers(warehouse: str, identifier: str) -> int:
    """Print consumers and leases, one line each; return the exit status.

    Raises:
        LakeError: What `Table.consumers` raises.
    """
    for file in Catalog(warehouse).table(identifier).consumers():
        if file.consumer is None:
            typer.echo(f"{file.id}\tunreadable\twritten {_time(file.modified_ms)}\t{file.error}")
            continue
        deadline_ms, holder = file.consumer.deadline_ms, file.consumer.holder
        modified = f"written {_time(file.modified_ms)}"
        kind = modified if deadline_ms is None else f"leased until {_time(deadline_ms)}"
        by = "" if holder is None else f"\t{holder}"
        typer.echo(f"{file.id}\tfrom snapshot {file.consumer.next_snapshot}\t{kind}{by}")
    return 0


def reset_consumer(warehouse: str, identifier: str, consumer: str, snapshot: int) -> int:
    """Set the oldest snapshot that a consumer needs; return the exit status.

    Raises:
        LakeError: What `Table.reset_consumer` raises.
    """
    table = Catalog(warehouse).table(identifier)
    change = consumer_change(table, consumer, after=snapshot)
    record(warehouse, identifier, AuditAction.PUT_CONSUMER, change)
    table.reset_consumer(consumer, snapshot)
    typer.echo(f"{identifier}: consumer {consumer} continues at snapshot {snapshot}")
    return 0


def delete_consumer(warehouse: str, identifier: str, consumer: str) -> int:
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


def _summary(result: ExpiryResult, *, is_dry_run: bool) -> str:
    if result.earliest is None:
        return "no snapshots"
    left = f"the oldest left is {result.earliest}: {result.held_by}"
    if not result.snapshots and not result.changelogs:
        return f"nothing to expire, {left}"
    verb = "would expire" if is_dry_run else "expired"
    what = [f"{_range('snapshot', result.snapshots)} {verb}"] if result.snapshots else []
    if result.changelogs:
        what.append(f"{_range('changelog', result.changelogs)} {verb}")
    if not is_dry_run:
        what.append(
            f"{result.data_files} data and changelog files ({result.data_bytes} bytes) and "
            f"{result.metadata_files} others deleted"
        )
    return ", ".join([*what, left])


def _range(what: str, ids: tuple[int, ...]) -> str:
    return f"{what} {ids[0]}" if len(ids) == 1 else f"{what}s {ids[0]} to {ids[-1]}"


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="seconds")
