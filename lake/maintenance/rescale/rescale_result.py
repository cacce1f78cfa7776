"""What a rescale did."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleResult:
    """What a rescale did, over all its rounds.

    Attributes:
        buckets: Bucket count of the table now.
        snapshot_id: The newest snapshot that it made; 0 when nothing was to be done.
        schema_id: Of the schema with the count.
        rounds: How often it looked for what others had committed meanwhile, and rewrote it.
        files_in: Files replaced.
        files_out: Files that came for them.
        rows: In the new files, retracts included.
    """

    buckets: int
    snapshot_id: int
    schema_id: int
    rounds: int = 0
    files_in: int = 0
    files_out: int = 0
    rows: int = 0
