"""Addresses of warehouses."""

import pytest

from lake.errors import InvalidRequest, UnsupportedFeature
from lake.files.local import LocalFileIO
from lake.files.open import file_io_for, path_for


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


@pytest.mark.parametrize("uri", ["s3://bucket/w", "hdfs://host/w", "file://host/w"])
def test_other_stores_are_refused_by_name(uri: str) -> None:
    with pytest.raises(UnsupportedFeature, match="use an absolute path") as caught:
        file_io_for(uri)

    assert caught.value.problems[0].value == uri


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="must be absolute"):
        file_io_for("warehouse")
