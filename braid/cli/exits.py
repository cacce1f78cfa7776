"""Exit statuses of commands, by what the caller has to do: one table of HTTP statuses, and the errors of this process in the same classes.

| exit status | HTTP status                            | meaning                                                          |
|-------------|----------------------------------------|------------------------------------------------------------------|
| 0           | 2xx                                    | done                                                             |
| 1           | 500                                    | it failed, or what it checks is not right                        |
| 2           | 400, 405, 406, 413, 415, 422, 428, 431, 501 | correct the command, the declaration or the request         |
| 3           | 404, 410                               | correct the name: there is no such table, stream or row (any more) |
| 4           | 409, 412                               | the state forbids it, or somebody else has changed it: look again |
| 75          | 408, 429, 503                          | try again later; also if the service cannot be reached           |
| 77          | 401, 403, 421                          | get access: a token, a scope, or the service's own name          |
"""

from collections.abc import Mapping, Sequence
from typing import Final

from braid.lake import (
    ChangesExpired,
    CommitConflict,
    CommitUnknown,
    InvalidRequest,
    LakeError,
    LeaseLost,
    LimitExceeded,
    OffsetMismatch,
    SchemaMismatch,
    StorageUnavailable,
    StreamFenced,
    TableExists,
    TableNotFound,
)
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.registry.errors import (
    DefinitionRefused,
    NoRunnerAnswers,
    OperationNotFound,
    RegistryError,
    StreamNotFound,
    TooManyOperations,
)
from braid.service.control.snapshot_resources import SnapshotNotFound, TagNotFound

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_FOUND: Final = 3
EXIT_CONFLICT: Final = 4
EXIT_TRY_AGAIN: Final = 75  # EX_TEMPFAIL
EXIT_NO_ACCESS: Final = 77  # EX_NOPERM

_EXIT_OF_STATUS: Final[Mapping[int, int]] = {
    401: EXIT_NO_ACCESS,
    403: EXIT_NO_ACCESS,
    404: EXIT_NOT_FOUND,
    408: EXIT_TRY_AGAIN,
    409: EXIT_CONFLICT,
    410: EXIT_NOT_FOUND,
    412: EXIT_CONFLICT,
    421: EXIT_NO_ACCESS,
    429: EXIT_TRY_AGAIN,
    501: EXIT_USAGE,
    503: EXIT_TRY_AGAIN,
}

# The first matching class decides; a test compares them with the HTTP statuses of the same errors.
_EXIT_OF_ERROR: Final[Sequence[tuple[type[Exception], int]]] = (
    (TableNotFound, EXIT_NOT_FOUND),
    (StreamNotFound, EXIT_NOT_FOUND),
    (OperationNotFound, EXIT_NOT_FOUND),
    (SnapshotNotFound, EXIT_NOT_FOUND),
    (TagNotFound, EXIT_NOT_FOUND),
    (ChangesExpired, EXIT_NOT_FOUND),
    (LeaseLost, EXIT_NOT_FOUND),
    (ManifestGone, EXIT_NOT_FOUND),
    (TableExists, EXIT_CONFLICT),
    (SchemaMismatch, EXIT_CONFLICT),
    (InvalidRequest, EXIT_USAGE),
    (LimitExceeded, EXIT_USAGE),
    (StorageUnavailable, EXIT_TRY_AGAIN),
    (CommitUnknown, EXIT_TRY_AGAIN),
    (CommitConflict, EXIT_CONFLICT),
    (StreamFenced, EXIT_CONFLICT),
    (OffsetMismatch, EXIT_CONFLICT),
    (NoRunnerAnswers, EXIT_TRY_AGAIN),
    (TooManyOperations, EXIT_TRY_AGAIN),
    (DefinitionRefused, EXIT_USAGE),
    (RegistryError, EXIT_CONFLICT),
    (LakeError, EXIT_FAILED),
    (OSError, EXIT_FAILED),
)
COMMAND_ERRORS: Final = (LakeError, RegistryError, OSError)
"""Errors that end a command with one line; every other exception is a defect."""


def exit_of_status(status: int) -> int:
    """Return the exit status for the HTTP status of a refusal.

    >>> exit_of_status(404), exit_of_status(422), exit_of_status(500)
    (3, 2, 1)
    """
    known = _EXIT_OF_STATUS.get(status)
    if known is not None:
        return known
    return EXIT_USAGE if 400 <= status < 500 else EXIT_FAILED


def exit_of_error(error: Exception) -> int:
    """Return the exit status for one of `COMMAND_ERRORS`."""
    return next(status for kind, status in _EXIT_OF_ERROR if isinstance(error, kind))
