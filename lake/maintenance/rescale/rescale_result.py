"""Result of a rescale."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleResult:
    """Counts of what a rescale changed in all its rounds.

    Attributes:
        buckets: Bucket count of the table now.
        snapshot_id: Id of the newest snapshot that the rescale made; 0 if it made none.
        schema_id: Id of the schema with the new count.
        rounds: Number of times that the rescale read the newest snapshot and rewrote its files.
        files_in: Number of replaced files.
        files_out: Number of files that replaced them.
        rows: Number of rows in the new files, retracts included.
    """

    buckets: int
    snapshot_id: int
    schema_id: int
    rounds: int = 0
    files_in: int = 0
    files_out: int = 0
    rows: int = 0
