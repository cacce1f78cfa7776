"""The question asked of every store before a table is written there."""

import uuid
from typing import Protocol

from lake.errors import Problem, UnsupportedFeature


class ExclusiveCreator(Protocol):
    """The part of `FileIO` that the probe needs."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    def delete(self, path: str) -> bool:
        """Delete a file."""
        ...


def probe_exclusive_create(storage: ExclusiveCreator, directory: str) -> None:
    """Create a file twice: the first must succeed, the second be refused and change nothing.

    Asked of storage rather than of a table of known stores, because mounts, gateways and versions
    differ in what they honour. The probe's file is hidden (`.`) and removed.

    Raises:
        UnsupportedFeature: The store does not honour exclusive creation.
    """
    path = f"{directory.rstrip('/')}/.probe-{uuid.uuid4()}.tmp"
    try:
        is_created = storage.create_exclusive(path, b"first")
        is_refused = not storage.create_exclusive(path, b"second")
        is_kept = storage.read_bytes(path) == b"first"
    finally:
        storage.delete(path)
    if not (is_created and is_refused and is_kept):
        message = "storage does not honour exclusive creation, commits could overwrite each other"
        raise UnsupportedFeature(
            message,
            problems=[
                Problem(
                    field="warehouse",
                    value=directory,
                    message="a file that existed could be created again",
                    hint="use a local or NFS file system with hard links",
                )
            ],
        )
