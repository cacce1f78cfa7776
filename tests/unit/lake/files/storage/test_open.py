"""Addresses of warehouses."""

from pathlib import Path

import pytest

from braid.lake import Catalog
from braid.lake.errors import InvalidRequest, UnsupportedFeature
from braid.lake.files.object_store.store import ObjectStoreFileIO
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.files.storage.open import file_io_for, path_for


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/data/warehouse", "/data/warehouse"),
        ("/data/warehouse/", "/data/warehouse"),
        ("file:///data/a%20b", "/data/a b"),
        ("file:/data/w", "/data/w"),
        ("file://localhost/data", "/data"),
        ("/", "/"),
    ],
)
def test_local_addresses_open_the_disk(uri: str, path: str) -> None:
    assert isinstance(file_io_for(uri), LocalFileIO)
    assert path_for(uri) == path


@pytest.mark.parametrize("uri", ["hdfs://host/w", "file://host/w", "http://host/w"])
def test_other_stores_are_refused_by_name(uri: str) -> None:
    with pytest.raises(UnsupportedFeature, match="use an absolute path") as caught:
        file_io_for(uri)

    assert caught.value.problems[0].value == uri


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("s3://bucket/w/", "s3://bucket/w"),
        ("s3a://bucket/a%20b#c", "s3a://bucket/a%20b#c"),
        ("s3://bucket", "s3://bucket"),
        ("gs://bucket/w", "gs://bucket/w"),
        ("az://container/w", "az://container/w"),
        (
            "abfss://container@account.dfs.core.windows.net/w",
            "abfss://container@account.dfs.core.windows.net/w",
        ),
    ],
)
def test_addresses_of_buckets_open_an_object_store(uri: str, path: str) -> None:
    assert isinstance(file_io_for(uri), ObjectStoreFileIO)
    assert path_for(uri) == path == path_for(path)


def test_a_scheme_in_upper_case_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidRequest, match=r"in lower case.*\nhint: write s3://"):
        path_for("S3://bucket/w")


@pytest.mark.parametrize("uri", ["s3://", "s3:///w", "s3://key:secret@bucket/w", "az://a:b/w"])
def test_an_address_without_a_bucket_is_refused_and_its_login_not_repeated(uri: str) -> None:
    with pytest.raises(InvalidRequest, match="the names of a bucket and a folder") as caught:
        path_for(uri)

    assert "secret" not in str(caught.value)


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="must be absolute"):
        file_io_for("warehouse")


@pytest.mark.parametrize("below", ["", "/warehouse", "/a/b"])
def test_a_file_is_not_a_warehouse(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(InvalidRequest, match="/file is a file, expected a directory"):
        file_io_for(f"{tmp_path}/file{below}")
    with pytest.raises(InvalidRequest, match="/file is a file, expected a directory"):
        Catalog(f"file://{tmp_path}/file{below}")


def test_a_warehouse_need_not_exist_yet(tmp_path: Path) -> None:
    file_io_for(f"{tmp_path}/not/yet")
