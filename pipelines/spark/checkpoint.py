"""Offsets in a checkpoint, which Spark writes before it runs a micro-batch.

* `<checkpoint>/offsets/<batch id>`: a version line, a line of metadata, and one line per source;
  a Kafka source writes `{"<topic>":{"<partition>":<next offset>}}`. It is written before the
  batch and read again when the batch is replayed, so it has exactly the batch's end offsets.
* `<checkpoint>/sources/0/0`: a version line and the offsets where micro-batch 0 starts.

The layout is Spark's own, the same since 2.x. The lines before those of the sources are skipped; any other form of
the offsets is an error, and nothing is guessed.
"""

import json
from pathlib import Path

from braid.lake import CorruptData

_OFFSETS_HEADER_LINES = 2
_INITIAL_HEADER_LINES = 1


def batch_end(checkpoint: Path, batch_id: int, *, topic: str) -> dict[int, int]:
    """Return the next offset by partition after a micro-batch.

    Args:
        checkpoint: The query's checkpoint directory.
        batch_id: Id of the micro-batch, from 0.
        topic: The query's only topic.

    Raises:
        CorruptData: The file is missing, or not as described above.
    """
    return _read(checkpoint / "offsets" / str(batch_id), _OFFSETS_HEADER_LINES, topic)


def batch_start(checkpoint: Path, batch_id: int, *, topic: str) -> dict[int, int]:
    """Return the next offset by partition before a micro-batch.

    Partitions that were added since the batch before are missing: Spark reads them from 0.

    Raises:
        CorruptData: As in `batch_end`. Spark keeps the offsets of a hundred micro-batches.
    """
    if batch_id == 0:
        return _read(checkpoint / "sources" / "0" / "0", _INITIAL_HEADER_LINES, topic)
    return batch_end(checkpoint, batch_id - 1, topic=topic)


def _read(path: Path, header_lines: int, topic: str) -> dict[int, int]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        message = f"checkpoint {path}: the file is missing, expected offsets of topic {topic}"
        raise CorruptData(message) from error
    found = lines[header_lines:]
    try:
        (source,) = found
        return {int(part): int(offset) for part, offset in json.loads(source)[topic].items()}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        message = f"checkpoint {path}: found {found}, expected offsets of topic {topic}"
        raise CorruptData(message) from error
