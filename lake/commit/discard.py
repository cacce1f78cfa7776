"""Deletion of a commit's data files, by the caller's function, when no snapshot can name them.

There are two such cases: the commit was a replay, and no attempt can have published its files
(`CommitResult.are_files_unused`); or it raised an error whose `committed_nothing` is true. After
any other exception (out of memory, an interrupt, an unforeseen error) the files stay; orphan
cleaning deletes them later if no snapshot names them.
"""

from collections.abc import Callable

from braid.lake.commit.commit_result import CommitResult
from braid.lake.errors import LakeError


def commit_or_discard(
    commit: Callable[[], CommitResult], *, discard: Callable[[], object]
) -> CommitResult:
    """Commit, and discard the files if they are certain to be in no snapshot.

    Args:
        commit: Calls a committer, and does nothing else.
        discard: Deletes the files of the commit.

    Raises:
        LakeError: The commit failed.
    """
    try:
        result = commit()
    except LakeError as error:
        if error.committed_nothing:
            discard()
        raise
    if result.are_files_unused:
        discard()
    return result
