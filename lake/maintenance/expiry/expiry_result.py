"""What an expiry removed, and what it left."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryResult:
    """What an expiry did, or with a dry run would begin with.

    Attributes:
        snapshots: Ids of the snapshots that are gone, ascending.
        earliest: The oldest snapshot that is left; None in a table without any.
        held_by: Why it is left, for people.
        changelogs: Ids of changelogs that outlived their snapshots and are gone now, ascending.
        consumers: Consumers and leases that were forgotten, because nobody had renewed them.
        data_files: Data and changelog files deleted.
        data_bytes: What they took.
        metadata_files: Manifests, manifest lists, index files and statistics deleted.
    """

    snapshots: tuple[int, ...] = ()
    earliest: int | None = None
    held_by: str = ""
    changelogs: tuple[int, ...] = ()
    consumers: tuple[str, ...] = ()
    data_files: int = 0
    data_bytes: int = 0
    metadata_files: int = 0
