"""Data files have the paths that the format's readers derive."""

import dataclasses

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.data_file_path import data_file_path, live_file_path, table_paths
from braid.lake.format.binary_row import EMPTY_ROW, encode_row
from tests.given_tables import ROOT, GivenTable, given_schema


def test_an_unpartitioned_bucket_lies_under_the_table() -> None:
    schema = given_schema({"k": "INT"}, key=["k"])

    found = data_file_path(table_paths(ROOT, schema), schema, EMPTY_ROW, 3, "data-0.parquet")

    assert found == f"{ROOT}/bucket-3/data-0.parquet"


def test_partitions_and_the_data_directory_lie_between() -> None:
    options = {"data-file.path-directory": "data"}
    schema = given_schema(
        {"k": "INT", "p": "INT"}, key=["k", "p"], partition=["p"], options=options
    )
    partition = encode_row([5], schema.partition_fields)

    found = data_file_path(table_paths(ROOT, schema), schema, partition, 0, "data-0.parquet")

    assert found == f"{ROOT}/data/p=5/bucket-0/data-0.parquet"


def test_files_outside_the_table_are_refused() -> None:
    table = GivenTable(schema=given_schema({"k": "INT"}, key=["k"]))
    table.write([1])
    file = dataclasses.replace(table.entries[0].file, external_path="/elsewhere/data-0.parquet")

    with pytest.raises(
        UnsupportedFeature,
        match=r"is outside of the table's directory, .*: /elsewhere/data-0\.parquet",
    ):
        live_file_path(table.paths, table.schema, EMPTY_ROW, 0, file)
