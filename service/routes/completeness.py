"""Route of a table's completeness: how many rows each stream has delivered, and how far each stream is behind."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response

from braid.lake import ReadAt, Table
from braid.registry.layout.physical_table import physical_groups
from braid.registry.store.progress import current_report, stream_key
from braid.schemas import (
    CountProgressInfo,
    GroupCompleteness,
    GroupCounts,
    SnapshotInfo,
    StreamLag,
    TableCompleteness,
    TableDocument,
)
from braid.schemas.api import SNAPSHOT_ID_MAX
from braid.service.components import Components
from braid.service.control.row_lookup import snapshot_fields
from braid.service.control.row_status import complete_when
from braid.service.control.stream_status import stream_status
from braid.service.dependencies import ComponentsOf, MaskOf
from braid.service.times import iso_utc

router = APIRouter(prefix="/v1/tables/{database}/{table}/completeness", tags=["rows"])


@router.get(
    "",
    responses={
        202: {
            "model": TableCompleteness,
            "description": "The rows are being counted for the first time",
        }
    },
    description=(
        "Return how many rows are absent, present, stale and deleted in each sequence group, how many are complete, and the lag "
        "of each stream. Rows are counted in the background, once for each snapshot. While the newest snapshot is counted, the "
        "answer has the counts of an earlier one, whose id it names, and the progress (`counting`). If there are no counts "
        "yet, the answer is 202 without them. `snapshot_id`, `tag` or `timestamp` name an older state, whose ages are measured "
        "at its commit."
    ),
)
def get_completeness(
    components: ComponentsOf,
    mask: MaskOf,
    database: str,
    table: str,
    response: Response,
    snapshot_id: Annotated[int | None, Query(ge=1, le=SNAPSHOT_ID_MAX)] = None,
    tag: str | None = None,
    timestamp: str | None = None,
) -> TableCompleteness:
    """Return the counts of a table's rows by state."""
    at = ReadAt(snapshot_id=snapshot_id, tag=tag, timestamp=timestamp)
    verified_ms = components.clock.now_ms()
    document, found = components.registered(f"{database}.{table}")
    mask.check_status(document, found.schema)
    counted, progress = components.completeness.get(found, document, at, verified_ms=verified_ms)
    if counted is None:
        response.status_code = HTTPStatus.ACCEPTED
        response.headers["retry-after"] = "1"
    count = None if counted is None else counted.count
    owners = {entry.spec.sequence_group: name for name, entry in document.streams.items()}
    return TableCompleteness(
        rows=None if count is None else count.rows,
        complete=None if count is None else count.complete,
        complete_when=complete_when(document),
        groups={
            group.name: GroupCompleteness(
                stream=owners.get(group.name),
                rows=None
                if count is None
                else GroupCounts.model_validate(count.groups[group.name]),
            )
            for group in physical_groups(document.table)
        },
        measured_at=None if count is None else iso_utc(count.measured_ms),
        snapshot=None
        if counted is None
        else SnapshotInfo(**snapshot_fields(counted.snapshot, verified_ms)),
        counting=None
        if progress is None
        else CountProgressInfo(
            snapshot_id=None if progress.snapshot is None else progress.snapshot.id,
            done=round(progress.done, 3),
        ),
        streams=_lags(components, document, found),
    )


def _lags(components: Components, document: TableDocument, table: Table) -> dict[str, StreamLag]:
    now_ms = components.clock.now_ms()
    alive_since_ms = now_ms - components.settings.runner_timeout_ms
    reports = components.reports.get().runners
    positions = table.committer().stream_positions()
    lags = {}
    for name, entry in sorted(document.streams.items()):
        key = stream_key(document.identifier, name)
        status = stream_status(
            document,
            entry,
            report=current_report(reports, key, alive_since_ms=alive_since_ms),
            position=positions.get(name),
            now_ms=now_ms,
            alive_since_ms=alive_since_ms,
        )
        lags[name] = StreamLag(
            state=status.state,
            lag_records=status.lag_records,
            lag_seconds=status.lag_seconds,
            last_commit=None if status.last_commit is None else status.last_commit.time,
        )
    return lags
