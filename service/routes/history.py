"""Route of a table's history: lag, rate, batches, completeness and sorted runs over the last hours."""

from typing import Annotated

from fastapi import APIRouter, Query

from braid.schemas import TableHistory
from braid.service.dependencies import ComponentsOf
from braid.service.serving.history import HISTORY_MINUTES

router = APIRouter(prefix="/v1/tables/{database}/{table}/history", tags=["tables"])


@router.get(
    "",
    description=(
        "Return series of the table and its streams for charts, all at the same times (`times`, milliseconds since 1970 UTC): "
        "`lag_records`, `lag_seconds`, `rate` and `batch_seconds` by stream, and `sorted_runs` and `completeness` of the table. "
        "A value is null where it was not known. Each process of the service keeps the samples in memory since its start, "
        f"for at most {HISTORY_MINUTES} minutes."
    ),
)
def get_history(
    components: ComponentsOf,
    database: str,
    table: str,
    minutes: Annotated[int, Query(ge=1, le=HISTORY_MINUTES)] = 60,
) -> TableHistory:
    """Return series of the last minutes."""
    identifier = components.registrar.document(f"{database}.{table}").identifier
    since_ms = components.clock.now_ms() - minutes * 60_000
    return components.history.history.of_table(identifier, since_ms=since_ms)
