import json
from dataclasses import fields, replace

import pytest

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.snapshot import CommitKind, Snapshot, parse_snapshot, serialize_snapshot
from tests.unit.lake.format.java_files import java_file

JAVA = java_file("snapshot-4")


def test_a_snapshot_of_java_is_written_back_key_by_key() -> None:
    written = serialize_snapshot(parse_snapshot(JAVA))

    assert json.loads(written) == json.loads(JAVA)
    assert list(json.loads(written)) == list(json.loads(JAVA))


def test_every_attribute_survives() -> None:
    snapshot = replace(
        parse_snapshot(JAVA),
        changelog_manifest_list="c",
        changelog_manifest_list_size=1,
        writer_version="w",
        changelog_record_count=2,
        watermark=3,
        statistics="s",
        properties={"braid.batch": "{}"},
        operation="WRITE",
    )
    assert all(getattr(snapshot, field.name) is not None for field in fields(Snapshot))

    assert parse_snapshot(serialize_snapshot(snapshot)) == snapshot


def test_obsolete_unknown_and_null_keys_are_ignored() -> None:
    document = {**json.loads(JAVA), "logOffsets": {"0": 1}, "new": [], "watermark": None}

    assert parse_snapshot(json.dumps(document).encode()) == parse_snapshot(JAVA)


@pytest.mark.parametrize(
    "key",
    ["id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser", "commitIdentifier",
     "commitKind", "timeMillis", "totalRecordCount", "deltaRecordCount"],
)  # fmt: skip
def test_a_key_that_every_writer_writes_is_required(key: str) -> None:
    document = json.loads(JAVA)
    del document[key]

    with pytest.raises(CorruptData, match=key):
        parse_snapshot(json.dumps(document).encode())


@pytest.mark.parametrize(("key", "value"), [("commitKind", "MERGE"), ("version", 4)])
def test_what_a_later_release_writes_is_unsupported(key: str, value: object) -> None:
    document = {**json.loads(JAVA), key: value}

    with pytest.raises(UnsupportedFeature, match=str(value)):
        parse_snapshot(json.dumps(document).encode())


def test_kinds_are_the_words_of_the_format() -> None:
    assert [str(kind) for kind in CommitKind] == ["APPEND", "COMPACT", "OVERWRITE", "ANALYZE"]
