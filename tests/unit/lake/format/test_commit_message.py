import zlib
from dataclasses import replace

import pytest

from lake.errors import CorruptData
from lake.format.binary_row import EMPTY_ROW
from lake.format.commit_message import CommitMessage, parse_messages, serialize_messages
from lake.format.manifest import decode_manifest
from tests.unit.lake.format.given_files import FILE, PLAIN_FILE
from tests.unit.lake.format.java_files import java_file

MESSAGE = CommitMessage(
    partition=EMPTY_ROW,
    bucket=3,
    total_buckets=4,
    schema_id=1,
    new_files=(FILE, PLAIN_FILE),
    compact_before=(PLAIN_FILE,),
    compact_after=(FILE,),
    changelog_files=(PLAIN_FILE, PLAIN_FILE),
)
DATA = serialize_messages([MESSAGE])


@pytest.mark.parametrize(
    "messages",
    [(), (MESSAGE,), (MESSAGE, replace(MESSAGE, bucket=0, new_files=(), compact_before=()))],
)
def test_messages_come_back(messages: tuple[CommitMessage, ...]) -> None:
    assert parse_messages(serialize_messages(messages)) == messages


def test_a_file_takes_a_few_hundred_bytes() -> None:
    entry = decode_manifest(java_file("types-manifest"))[0]
    message = replace(MESSAGE, new_files=(entry.file,), compact_before=(), compact_after=())

    assert len(serialize_messages([replace(message, changelog_files=())])) < 500


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
