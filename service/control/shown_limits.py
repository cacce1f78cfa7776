"""The bounds of requests, as the service tells them to clients."""

from braid.registry.store.operations import OPEN_MAX
from braid.schemas.api import KEYS_MAX
from braid.schemas.batch_verb import STREAMS_MAX, TABLES_MAX
from braid.schemas.contract import COLUMNS_MAX
from braid.schemas.pushed_records import RECORDS_MAX
from braid.schemas.resource_lists import ServiceLimits
from braid.schemas.schema_change import CHANGES_MAX
from braid.service.control.lists.list_query import PAGE_SIZE_MAX
from braid.service.limits import RequestClass, RequestLimits


def service_limits(limits: RequestLimits) -> ServiceLimits:
    """Return the bounds of a process, with those that hold for every process."""
    return ServiceLimits(
        head_bytes=limits.head_bytes,
        body_bytes=limits.body.bytes,
        bulk_body_bytes=limits.bulk_body.bytes,
        json_depth=limits.body.depth,
        page_size=PAGE_SIZE_MAX,
        keys=KEYS_MAX,
        records=RECORDS_MAX,
        schema_changes=CHANGES_MAX,
        columns=COLUMNS_MAX,
        streams=STREAMS_MAX,
        tables=TABLES_MAX,
        operations=OPEN_MAX,
        subscriptions=limits.classes[RequestClass.SUBSCRIPTION].running,
        connections=limits.connections,
        snapshot_wait_seconds=limits.snapshot_wait_seconds,
    )
