"""Number of sorted runs per bucket: a measure of the merging that reads do, and of compaction due.

Source: merge-semantics 7.1.
"""

from collections.abc import Iterable

from braid.lake.format.manifest import ManifestEntry


def count_runs(entries: Iterable[ManifestEntry]) -> dict[tuple[bytes, int], int]:
    """Return the number of sorted runs by serialised partition row and bucket number.

    Each file of level 0 is a run, and so is each higher level that has files.

    Args:
        entries: Live files, in any order.
    """
    counts: dict[tuple[bytes, int], int] = {}
    seen: set[tuple[bytes, int, int]] = set()
    for entry in entries:
        level = (entry.partition, entry.bucket, entry.file.level)
        if entry.file.level > 0 and level in seen:
            continue
        seen.add(level)
        bucket = (entry.partition, entry.bucket)
        counts[bucket] = counts.get(bucket, 0) + 1
    return counts
