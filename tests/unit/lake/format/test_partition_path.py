from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.binary_row import EMPTY_ROW, encode_row
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import decode_manifest
from braid.lake.format.partition_path import (
    bucket_directory,
    escape,
    partition_directory,
    partition_label,
)
from braid.lake.format.schema import TableSchema, parse_schema
from braid.lake.format.type_codec import parse_type
from tests.unit.lake.format.java_files import java_file

LEGACY = {"bucket": "1"}
MODERN = {"bucket": "1", "partition.legacy-name": "false"}
MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678_000)  # noqa: DTZ001 - a local date-time
MIDNIGHT = datetime(2024, 1, 2)  # noqa: DTZ001


def _schema(*types: str, **options: str) -> TableSchema:
    fields = [
        DataField(id=index, name=f"p{index}", type=parse_type(text))
        for index, text in enumerate(types)
    ]
    names = tuple(field.name for field in fields)
    key = DataField(id=len(fields), name="k", type=parse_type("INT NOT NULL"))
    return TableSchema(
        id=0,
        fields=(*fields, key),
        highest_field_id=len(fields),
        partition_keys=names,
        primary_keys=(*names, "k"),
        options={"bucket": "1", **options},
    )


def _directory(value: object, schema: TableSchema) -> str:
    return partition_directory(encode_row([value], schema.partition_fields), schema)


@pytest.mark.parametrize(
    ("text", "value", "legacy", "modern"),
    [
        ("STRING", "eu/west:1", "eu%2Fwest%3A1", "eu%2Fwest%3A1"),
        ("STRING", "a b+c.é", "a b+c.é", "a b+c.é"),
        ("INT", -5, "-5", "-5"),
        ("BOOLEAN", True, "true", "true"),
        ("BOOLEAN", False, "false", "false"),
        ("DATE", date(2024, 1, 2), "19724", "2024-01-02"),
        ("TIME(0)", time(1, 2, 3), "3723000", "01%3A02%3A03"),
        ("TIME(3)", time(0, 0), "0", "00%3A00%3A00.0"),
        ("TIME(3)", time(1, 2, 3, 120_000), "3723120", "01%3A02%3A03.12"),
        ("TIMESTAMP(3)", MOMENT, "2024-01-02T03%3A04%3A05.678", "2024-01-02 03%3A04%3A05.678"),
        ("TIMESTAMP(3)", MIDNIGHT, "2024-01-02T00%3A00", "2024-01-02 00%3A00%3A00.000"),
        (
            "TIMESTAMP(6)",
            MOMENT.replace(microsecond=678_900),
            "2024-01-02T03%3A04%3A05.678900",
            "2024-01-02 03%3A04%3A05.678900",
        ),
        ("TIMESTAMP(9)", 5 * 10**9 + 1, "1970-01-01T00%3A00%3A05.000000001",
         "1970-01-01 00%3A00%3A05.000000001"),
        ("TIMESTAMP(3)", MOMENT.replace(year=999), "0999-01-02T03%3A04%3A05.678",
         "0999-01-02 03%3A04%3A05.678"),
        ("TIMESTAMP(3)", MIDNIGHT.replace(year=999), "0999-01-02T00%3A00", "0999-01-02 00%3A00%3A00.000"),
        ("TIMESTAMP(0)", MOMENT.replace(microsecond=0), "2024-01-02T03%3A04%3A05",
         "2024-01-02 03%3A04%3A05"),
        ("TIMESTAMP_LTZ(3)", MIDNIGHT.replace(tzinfo=UTC), "2024-01-02T00%3A00",
         "2024-01-02 00%3A00%3A00.000"),
        ("DECIMAL(30, 3)", Decimal("0.000"), "0.000", "0.000"),
        ("DECIMAL(10, 2)", Decimal("-7.50"), "-7.50", "-7.50"),
        ("DOUBLE", 1e10, "1.0E10", "1.0E10"),
        ("DOUBLE", 1.5, "1.5", "1.5"),
        ("DOUBLE", 0.001, "0.001", "0.001"),
        ("DOUBLE", 1e-5, "1.0E-5", "1.0E-5"),
        ("DOUBLE", 9_999_999.0, "9999999.0", "9999999.0"),
        ("DOUBLE", -0.0, "-0.0", "-0.0"),
        ("DOUBLE", float("-inf"), "-Infinity", "-Infinity"),
        ("DOUBLE", float("inf"), "Infinity", "Infinity"),
        ("DOUBLE", float("nan"), "NaN", "NaN"),
        ("FLOAT", 0.1, "0.1", "0.1"),
        ("FLOAT", 3.4028234663852886e38, "3.4028235E38", "3.4028235E38"),
    ],
)  # fmt: skip
def test_values_are_spelt_as_java_spells_them(
    text: str, value: object, legacy: str, modern: str
) -> None:
    schema = _schema(text)

    assert _directory(value, replace(schema, options=LEGACY)) == f"p0={legacy}"
    assert _directory(value, replace(schema, options=MODERN)) == f"p0={modern}"


@pytest.mark.parametrize("value", [None, "", "  \t"])
def test_null_and_blank_values_share_the_default_partition(value: str | None) -> None:
    assert _directory(value, _schema("STRING")) == "p0=__DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("value", "behind"),
    [
        (None, ""),
        ("", " (p0='')"),
        (" ", " (p0=' ')"),
        ("__DEFAULT_PARTITION__", " (p0='__DEFAULT_PARTITION__')"),
    ],
)
def test_partitions_of_one_directory_have_different_labels(value: str | None, behind: str) -> None:
    schema = _schema("STRING")
    partition = encode_row([value], [parse_type("STRING")])

    assert partition_label(partition, schema) == f"p0=__DEFAULT_PARTITION__{behind}"


def test_a_no_break_space_is_not_blank() -> None:
    assert _directory("\xa0", _schema("STRING")) == "p0=\xa0"


def test_the_default_partition_has_a_name_of_the_tables_choice() -> None:
    schema = _schema("STRING", **{"partition.default-name": "nothing"})

    assert _directory(None, schema) == "p0=nothing"


def test_every_character_that_a_path_cannot_hold_is_escaped() -> None:
    assert escape("\x00\x1f\"#%'*/:=?\\\x7f{}[]^") == (
        "%00%1F%22%23%25%27%2A%2F%3A%3D%3F%5C%7F%7B%7D%5B%5D%5E"
    )
    assert escape(" +.~é<>|&") == " +.~é<>|&"


def test_partitions_nest_in_the_order_of_the_keys() -> None:
    schema = _schema("STRING", "INT")
    partition = encode_row(["a", 1], schema.partition_fields)

    assert partition_directory(partition, schema) == "p0=a/p1=1"
    assert bucket_directory(partition, 2, schema) == "p0=a/p1=1/bucket-2"


def test_an_unpartitioned_table_has_buckets_only() -> None:
    assert partition_directory(EMPTY_ROW, _schema()) == ""
    assert bucket_directory(EMPTY_ROW, 0, _schema()) == "bucket-0"
    assert bucket_directory(EMPTY_ROW, -2, _schema()) == "bucket-postpone"


def test_a_path_directory_comes_first() -> None:
    schema = _schema("INT", **{"data-file.path-directory": "data/"})

    assert bucket_directory(encode_row([1], schema.partition_fields), 0, schema) == (
        "data/p0=1/bucket-0"
    )


def test_directories_of_a_table_of_java_are_found() -> None:
    schema = parse_schema(java_file("partitioned-schema-0"))
    entries = decode_manifest(java_file("partitioned-manifest"))

    directories = {bucket_directory(entry.partition, entry.bucket, schema) for entry in entries}

    assert "p=é x%2Fy%3Dz/bucket-1" in directories


def test_a_binary_partition_has_no_path() -> None:
    with pytest.raises(UnsupportedFeature, match="`p0` of type `BYTES` cannot name a directory"):
        _directory(b"x", _schema("BYTES"))


def test_a_partition_of_another_arity_is_corrupt() -> None:
    with pytest.raises(CorruptData, match="expected 1 fields"):
        partition_directory(EMPTY_ROW, _schema("INT"))
