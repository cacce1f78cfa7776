"""Iceberg metadata of an opened table, after an operation that changed its compacted state.

The operation is done by then. A failure here is logged: the metadata stay as they were, and are caught up by the
next publication, an expiry's at the latest.
"""

import logging

from braid.lake.errors import LakeError
from braid.lake.format.snapshot import Snapshot
from braid.lake.iceberg.publication import publish
from braid.lake.snapshots.table_store import TableStore

logger = logging.getLogger(__name__)


def publish_or_log(store: TableStore, *, tagged: Snapshot | None = None) -> None:
    """Publish the newest snapshot, if the table has Iceberg metadata; log a failure.

    Args:
        store: Store of the table.
        tagged: A snapshot that has got a tag; see `publish`.
    """
    try:
        publish(store, tagged=tagged)
    except (LakeError, OSError) as error:
        logger.warning("Iceberg metadata of %s are out of date: %s", store.paths.identifier, error)
