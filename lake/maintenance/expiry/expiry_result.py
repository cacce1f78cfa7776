"""Result of an expiry."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryResult:
    """Snapshots, changelogs, consumers and files that an expiry removed.

    After a dry run only the first three fields are set.

    Attributes:
        snapshots: Ids of the expired snapshots, ascending.
        earliest: Id of the oldest snapshot that is left; None in a table without snapshots, and while the newest
            one belongs to history that a rollback removes.
        held_by: Why snapshot `earliest` is left, as text for users.
        changelogs: Ids of expired changelogs that had outlived their snapshots, ascending.
        consumers: Consumers and leases that were deleted because they had not been renewed.
        data_files: Number of data and changelog files deleted.
        data_bytes: Bytes of these files.
        metadata_files: Number of manifests, manifest lists, index files and statistics deleted.
    """

    snapshots: tuple[int, ...] = ()
    earliest: int | None = None
    held_by: str = ""
    changelogs: tuple[int, ...] = ()
    consumers: tuple[str, ...] = ()
    data_files: int = 0
    data_bytes: int = 0
    metadata_files: int = 0
