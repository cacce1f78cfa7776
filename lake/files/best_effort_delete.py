"""Files that were written for nothing.

Whoever gives up deletes what it wrote, most often because something went wrong already. That is what
its caller has to hear, and not that a file could not be deleted: such a file is in nobody's way.
"""

import logging
from collections.abc import Iterable

from lake.errors import StorageUnavailable
from lake.files.storage.file_io import FileIO

_LOG = logging.getLogger(__name__)


def delete_best_effort(file_io: FileIO, paths: Iterable[str]) -> None:
    """Delete files that nothing names, nor ever will; what cannot be deleted stays.

    Orphan cleaning finds what stays. Files that are not there are passed over.

    Args:
        file_io: Storage.
        paths: Of the files, each with a name of its own.
    """
    for path in paths:
        try:
            file_io.delete(path)
        except (OSError, StorageUnavailable) as error:
            _LOG.warning("left over, to be found by orphan cleaning: %s: %s", path, error)
