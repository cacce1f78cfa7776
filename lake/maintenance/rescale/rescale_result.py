"""Result of a rescale."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleResult:
    """Counts of what a rescale changed in all its rounds.

    Attributes:
        buckets: Bucket count of the table now.
        snapshot_id: The newest snapshot that it made; 0 when there was nothing to rewrite.
        schema_id: Of the schema with the count.
        rounds: The number of times that it read the newest snapshot and rewrote its files.
        files_in: The number of replaced files.
        files_out: The number of files that replaced them.
        rows: In the new files, retracts included.
    """

    buckets: int
    snapshot_id: int
    schema_id: int
    rounds: int = 0
    files_in: int = 0
    files_out: int = 0
    rows: int = 0
