"""Damaged files of a backfill: every error of a decoder becomes an `InvalidRequest` that names the file.

Errors of the operating system, such as a failed read, become `StorageUnavailable`. Errors of the
engine stay as they are.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from braid.lake import InvalidRequest, LakeError, Problem, StorageUnavailable

ItemT = TypeVar("ItemT")
_REASON_MAX = 300


def damaged(path: str, reason: object) -> InvalidRequest:
    """Return the error of a file that is not of its format.

    Args:
        path: The file.
        reason: What is wrong with it, as a text or an exception.
    """
    problem = Problem(
        field="--from",
        value=path,
        message=f"the file cannot be read: {' '.join(str(reason).split())[:_REASON_MAX]}",
        hint="put an intact copy in its place, of the same size and modification time, and start the backfill again: it "
        "continues; files with other rows need a backfill of another name",
    )
    message = f"{path} cannot be read"
    return InvalidRequest(message, problems=[problem])


@contextmanager
def decoding(path: str) -> Iterator[None]:
    """Name the file in the errors of its decoder; the block decodes, and reads what it decodes.

    Raises:
        InvalidRequest: The file is damaged.
        StorageUnavailable: Storage does not answer.
    """
    try:
        yield
    except LakeError:
        raise
    except Exception as error:
        # Errors of the system have an `errno`, errors of decoders do not.
        if isinstance(error, OSError) and error.errno is not None:
            message = f"{path} cannot be read now: {error}"
            raise StorageUnavailable(message) from error
        # Arbitrary bytes fail in arbitrary ways, each codec with classes of its own, so every exception counts.
        raise damaged(path, error) from error


def decoded(path: str, items: Iterable[ItemT]) -> Iterator[ItemT]:
    """Yield what a decoder yields.

    Raises:
        InvalidRequest: The file is damaged.
        StorageUnavailable: Storage does not answer.
    """
    with decoding(path):
        yield from items
