"""Executors that cannot use the warehouse are found before streams start, and named with what their storage says."""

import platform
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braid.lake import LocalFileIO, MemoryFileIO, StorageUnavailable
from braid.pipelines.spark.executor_storage import check_storage, refusal, try_storage
from tests.support.faulty_file_io import FaultyFileIO


def test_a_process_that_reaches_the_warehouse_leaves_nothing_there() -> None:
    storage = MemoryFileIO()

    assert list(try_storage(storage, "/w", [])) == [None]
    assert storage.list("/w") == []


@pytest.mark.parametrize("refused", ["create_exclusive", "read_bytes", "delete"])
def test_what_storage_refuses_is_told_with_the_host(refused: str) -> None:
    def refuse(_number: int, method: str, _path: str) -> None:
        if method == refused:
            message = "storage refused access (status 403)\nhint: credentials of this process"
            raise StorageUnavailable(message)

    storage = FaultyFileIO(MemoryFileIO())
    storage.before = refuse

    (found,) = try_storage(storage, "/w", [])

    assert found == {"host": platform.node(), "error": "storage refused access (status 403)"}


def test_each_host_is_named_once_and_the_hint_names_the_ways_to_credentials() -> None:
    text = refusal([{"host": "b", "error": "refused"}, None, {"host": "b", "error": "refused"}])

    assert text.startswith("executors cannot use the warehouse; b: refused\nhint: ")
    assert "BRAID_STORE_CREDENTIALS" in text
    assert "--executor-env" in text


@pytest.mark.spark
def test_tasks_try_the_warehouse(spark: SparkSession, tmp_path: Path) -> None:
    storage = LocalFileIO()
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    check_storage(spark, storage, warehouse=str(warehouse), executors=1)
    assert storage.list(str(warehouse)) == []

    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StorageUnavailable, match=rf"cannot use the warehouse; {platform.node()}: "):
        check_storage(spark, storage, warehouse=str(file), executors=1)
