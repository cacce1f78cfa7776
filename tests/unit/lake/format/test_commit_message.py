import zlib
from dataclasses import replace

import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.commit_message import CommitMessage, parse_messages, serialize_messages
from braid.lake.format.indexes.index_manifest import HASH_INDEX, IndexManifestEntry
from braid.lake.format.manifest import decode_manifest
from tests.unit.lake.format.given_files import FILE, PLAIN_FILE
from tests.unit.lake.format.java_files import java_file

INDEX = IndexManifestEntry(
    partition=EMPTY_ROW,
    bucket=3,
    index_type=HASH_INDEX,
    file_name="index-1-0",
    file_size=8,
    row_count=2,
)
MESSAGE = CommitMessage(
    partition=EMPTY_ROW,
    bucket=3,
    total_buckets=4,
    schema_id=1,
    new_files=(FILE, PLAIN_FILE),
    compact_before=(PLAIN_FILE,),
    compact_after=(FILE,),
    changelog_files=(PLAIN_FILE, PLAIN_FILE),
    new_index_files=(INDEX,),
    index_base=("index-0-0", "index-0-1"),
)
DATA = serialize_messages([MESSAGE])


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (MESSAGE,),
        (MESSAGE, replace(MESSAGE, bucket=0, new_files=(), compact_before=())),
        (replace(MESSAGE, new_index_files=(), index_base=None),),
        (replace(MESSAGE, new_index_files=(INDEX, INDEX), index_base=()), MESSAGE),
    ],
)
def test_messages_come_back(messages: tuple[CommitMessage, ...]) -> None:
    assert parse_messages(serialize_messages(messages)) == messages


def test_a_file_takes_a_few_hundred_bytes() -> None:
    entry = decode_manifest(java_file("types-manifest"))[0]
    message = CommitMessage(
        partition=EMPTY_ROW, bucket=3, total_buckets=4, schema_id=1, new_files=(entry.file,)
    )

    assert len(serialize_messages([message])) < 500


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"something else",
        DATA[:-5],
        DATA[:5],
        DATA[:5] + zlib.compress(zlib.decompress(DATA[5:])[:-3]),
        DATA[:5] + zlib.compress(zlib.decompress(DATA[5:]) + b"\0"),
    ],
    ids=["nothing", "other", "cut", "header", "cut inside", "too long"],
)
def test_other_bytes_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptData, match="commit messages"):
        parse_messages(data)
