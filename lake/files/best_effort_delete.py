"""Best-effort deletion of files that an operation has written and will not commit.

An operation that gives up deletes what it wrote, mostly because of an earlier error. The caller needs that
error and not the one of the deletion: a file that stays does no harm.
"""

import logging
from collections.abc import Iterable

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.file_io import FileIO

_LOG = logging.getLogger(__name__)


def delete_best_effort(file_io: FileIO, paths: Iterable[str]) -> None:
    """Delete files that nothing references or ever will; those that cannot be deleted stay.

    Orphan cleaning removes what stays. Absent files are skipped.

    Args:
        file_io: Storage.
        paths: Of the files, whose names no other writer uses.
    """
    for path in paths:
        try:
            file_io.delete(path)
        except (OSError, StorageUnavailable) as error:
            _LOG.warning("left over, to be found by orphan cleaning: %s: %s", path, error)
