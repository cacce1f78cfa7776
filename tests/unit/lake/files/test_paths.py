"""Names on storage are those of the format."""

import pytest

from braid.lake.files.paths import TablePaths, numbered


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("snapshot-1", 1),
        ("snapshot-0", 0),
        ("snapshot-9223372036854775807", 9223372036854775807),
        ("snapshot-9223372036854775808", None),
        ("snapshot-0012", None),
        ("snapshot-", None),
        ("snapshot", None),
        ("snapshot--1", None),
        ("snapshot-1.tmp", None),
        (".snapshot-1.0b6f.tmp", None),
        ("snapshot-²", None),
        ("LATEST", None),
    ],
)
def test_only_exact_names_have_numbers(name: str, expected: int | None) -> None:
    assert numbered(name, "snapshot-") == expected


def test_paths_are_those_of_the_format() -> None:
    paths = TablePaths("/w/db.db/t/")

    assert paths.schema(3) == "/w/db.db/t/schema/schema-3"
    assert paths.snapshot(7) == "/w/db.db/t/snapshot/snapshot-7"
    assert paths.latest_hint == "/w/db.db/t/snapshot/LATEST"
    assert paths.earliest_hint == "/w/db.db/t/snapshot/EARLIEST"
    assert paths.manifest("manifest-u-0") == "/w/db.db/t/manifest/manifest-u-0"
    assert paths.index("index-u-0") == "/w/db.db/t/index/index-u-0"
    assert paths.schema_dir == "/w/db.db/t/schema"
    assert paths.snapshot_dir == "/w/db.db/t/snapshot"
    assert paths.manifest_dir == "/w/db.db/t/manifest"


def test_data_files_lie_in_their_bucket() -> None:
    paths = TablePaths("/t")

    assert paths.data_file("", 3, "data-u-0.parquet") == "/t/bucket-3/data-u-0.parquet"
    assert paths.data_file("p=1/q=2", 0, "f") == "/t/p=1/q=2/bucket-0/f"
    assert paths.bucket_dir("", -2) == "/t/bucket-postpone"
    assert TablePaths("/t", "data/").bucket_dir("p=1", 0) == "/t/data/p=1/bucket-0"


def test_new_names_carry_writer_and_number() -> None:
    assert TablePaths.new_manifest_name("u", 0) == "manifest-u-0"
    assert TablePaths.new_manifest_list_name("u", 1) == "manifest-list-u-1"
