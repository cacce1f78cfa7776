"""A micro-batch is the range of offsets that Spark's checkpoint has for it."""

from pathlib import Path

import pytest

from braid.lake import CorruptData, StreamBatch, StreamPosition
from braid.pipelines.sink.micro_batch import has_several_partitions, read_micro_batch, records_max

CLAIMED = StreamPosition(stream="s", epoch=4, topic="t", topic_id="id", offsets={0: 3})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint in which a partition was added with micro-batch 1."""
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    (offsets / "0").write_text('v1\n{}\n{"t":{"0":5}}')
    (offsets / "1").write_text('v1\n{}\n{"t":{"0":9,"1":2}}')
    return tmp_path


def read(checkpoint: Path, batch_id: int) -> StreamBatch:
    return read_micro_batch(checkpoint, batch_id, topic="t", claimed=CLAIMED)


def test_an_added_partition_starts_at_zero(checkpoint: Path) -> None:
    batch = read(checkpoint, 1)

    assert batch == StreamBatch(
        stream="s",
        epoch=4,
        batch_id=1,
        topic="t",
        topic_id="id",
        start={0: 5, 1: 0},
        end={0: 9, 1: 2},
    )
    assert records_max(batch) == 6
    assert has_several_partitions(batch)


def test_a_partition_without_new_records_does_not_count(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "1").write_text('v1\n{}\n{"t":{"0":9,"1":0}}')

    assert not has_several_partitions(read(checkpoint, 1))


def test_a_micro_batch_without_offsets_is_an_error(checkpoint: Path) -> None:
    with pytest.raises(CorruptData, match="offsets/2: the file is missing"):
        read(checkpoint, 2)
