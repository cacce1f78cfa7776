"""The rule by which the files of a commit that came to nothing are deleted.

They are, after an outcome that is known: the commit was a replay of one with other files, or an error
says that nothing was committed. After anything else that is raised, be it memory that ran out, a key
that was pressed or an error that nobody thought of, they stay: a snapshot may name them. Orphan cleaning
deletes them later if none does.
"""

from collections.abc import Callable

from lake.commit.commit_result import CommitResult
from lake.errors import LakeError


def commit_or_discard(
    commit: Callable[[], CommitResult], *, discard: Callable[[], object]
) -> CommitResult:
    """Commit, and discard the files that are certain to be in no snapshot.

    Args:
        commit: Calls a committer, and does nothing else.
        discard: Deletes the files of the commit.

    Raises:
        LakeError: From the commit.
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
