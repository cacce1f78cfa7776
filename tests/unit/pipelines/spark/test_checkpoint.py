"""The offsets of a micro-batch are read from files as Spark 4 writes them."""

from pathlib import Path

import pytest

from braid.lake import CorruptData
from braid.pipelines.spark.checkpoint import batch_end, batch_start

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint after two micro-batches were planned."""
    initial = tmp_path / "sources" / "0" / "0"
    initial.parent.mkdir(parents=True)
    # Spark writes a zero byte first, a relic of an older layout.
    initial.write_text('\0v1\n{"t":{"0":3}}')
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    (offsets / "0").write_text(f'v1\n{METADATA}\n{{"t":{{"0":5,"1":2}}}}')
    (offsets / "1").write_text(f'v1\n{METADATA}\n{{"t":{{"0":9,"1":2}}}}')
    return tmp_path


def test_a_batch_ends_at_the_offsets_of_its_file(checkpoint: Path) -> None:
    assert batch_end(checkpoint, 1, topic="t") == {0: 9, 1: 2}


def test_a_batch_starts_where_the_one_before_ended(checkpoint: Path) -> None:
    assert batch_start(checkpoint, 1, topic="t") == {0: 5, 1: 2}


def test_the_first_batch_starts_at_the_initial_offsets(checkpoint: Path) -> None:
    assert batch_start(checkpoint, 0, topic="t") == {0: 3}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'v1\n{METADATA}\n{{"other":{{"0":1}}}}', "other"),
        (f"v1\n{METADATA}\n-", "'-'"),
        (f'v1\n{METADATA}\n{{"t":{{"0":1}}}}\n{{"t":{{"0":1}}}}', "0"),
        ("v1", r"\[\]"),
    ],
    ids=["another topic", "no offsets", "two sources", "cut short"],
)
def test_anything_else_is_an_error_and_no_guess(checkpoint: Path, text: str, found: str) -> None:
    (checkpoint / "offsets" / "1").write_text(text)

    with pytest.raises(CorruptData, match=f"found .*{found}.*, expected offsets of topic t"):
        batch_end(checkpoint, 1, topic="t")


def test_a_missing_file_is_named(checkpoint: Path) -> None:
    with pytest.raises(CorruptData, match=r"offsets/7: the file is missing"):
        batch_end(checkpoint, 7, topic="t")
