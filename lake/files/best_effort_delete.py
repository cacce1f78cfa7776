"""Best-effort deletion of files that an operation has written and will not commit.

An operation that gives up, mostly because of an error, deletes the files that it wrote. The caller needs
the error of the operation, not an error of the deletion: a file that stays does no harm.
"""

import logging
from collections.abc import Iterable

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.file_io import FileIO

_LOG = logging.getLogger(__name__)


def delete_best_effort(file_io: FileIO, paths: Iterable[str]) -> None:
    """Delete files that nothing references or will reference; files that cannot be deleted stay.

    Orphan cleaning removes files that stay. Absent files are skipped.

    Args:
        file_io: Storage.
        paths: Paths of the files, whose names no other writer uses.
    """
    for path in paths:
        try:
            file_io.delete(path)
        except (OSError, StorageUnavailable) as error:
            _LOG.warning("not deleted, left for orphan cleaning: %s: %s", path, error)
