"""Implementation of `braid table expire` (declared in `table_work_cli`).

The result is printed on stdout. Consumers that the expiry has deleted are named on stderr.
"""

import typer

from braid.cli.audit import record_maintenance
from braid.lake import Catalog, Clock, ExpiryResult, SystemClock
from braid.schemas import SnapshotExpiryRequest


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
    request = SnapshotExpiryRequest(
        dry_run=is_dry_run,
        retain_min=retain_min,
        retain_max=retain_max,
        retained_seconds=None if older_than_age_ms is None else older_than_age_ms // 1000,
    )
    record_maintenance(warehouse, identifier, request)
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
