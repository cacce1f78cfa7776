"""Tables that this writer would write wrongly are refused."""

from dataclasses import replace

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.maintenance.compaction.compactable import check_compactable
from braid.lake.write.writable import check_writable
from tests.given_tables import given_schema


def test_a_plain_table_can_be_written() -> None:
    check_writable(given_schema({"k": "INT"}, key=["k"]))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("bucket", "-2"),
    ],
)
def test_option_is_refused_with_a_hint(option: str, value: str) -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options={option: value})

    with pytest.raises(UnsupportedFeature) as caught:
        check_writable(schema)

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (option, value)
    assert problem.hint


FORMATS_AND_CODECS = [
    ({"file.format": "lance"}, "file.format", "lance"),
    ({"file.format.per.level": "0:avro, 5:csv"}, "file.format.per.level", "csv"),
    ({"changelog-file.format": "x", "changelog-producer": "input"}, "changelog-file.format", "x"),
    ({"file.compression": "lzo"}, "file.compression", "lzo"),
    ({"file.format": "orc", "file.compression": "gzip"}, "file.compression", "gzip"),
    ({"file.format": "avro", "file.compression": "lz4"}, "file.compression", "lz4"),
    ({"file.format": "avro", "avro.codec": "snappy"}, "avro.codec", "snappy"),
    ({"file.compression.per.level": "0:lz5"}, "file.compression.per.level", "lz5"),
    (
        {"file.format.per.level": "0:avro", "file.compression.per.level": "0:lz4"},
        "file.compression.per.level",
        "lz4",
    ),
    ({"orc.compress": "lzo", "file.format": "orc"}, "orc.compress", "lzo"),
    (
        {"changelog-file.compression": "lzo", "changelog-producer": "input"},
        "changelog-file.compression",
        "lzo",
    ),
]


@pytest.mark.parametrize(("options", "option", "value"), FORMATS_AND_CODECS)
def test_a_format_or_codec_that_no_file_can_have_is_refused(
    options: dict[str, str], option: str, value: str
) -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options=options)

    for check in (check_writable, check_compactable):
        with pytest.raises(UnsupportedFeature) as caught:
            check(schema)
        (problem,) = caught.value.problems
        assert (problem.field, problem.value) == (option, value)
        assert problem.hint


@pytest.mark.parametrize(
    "options",
    [
        {"changelog-file.format": "csv"},
        {"changelog-file.compression": "lzo"},
        {"orc.compress": "lzo"},
        {"file.format": "ORC", "file.compression": "ZLIB"},
        {"file.format": "avro", "file.compression": "null"},
        {"file.compression": "gzip", "file.format": "orc", "orc.compress": "zlib"},
        {"file.format.per.level": "0:avro,5:orc", "file.compression.per.level": "0:bzip2,5:lz4"},
    ],
)
def test_an_encoding_that_no_file_gets_is_allowed(options: dict[str, str]) -> None:
    check_writable(given_schema({"k": "INT"}, key=["k"], options=options))


@pytest.mark.parametrize(
    ("name", "column_type", "value"),
    [
        ("t", "TIMESTAMP(7)", "TIMESTAMP(7)"),
        ("t", "ARRAY<ROW<a TIMESTAMP_LTZ(9)>>", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        ("t", "TIME(6)", "TIME(6)"),
        ("order no", "INT", "order no"),
        ("t", "ROW<`a-b` INT>", "a-b"),
    ],
)
def test_columns_that_avro_does_not_have_are_refused(
    name: str, column_type: str, value: str
) -> None:
    columns = {"k": "INT", name: column_type}
    for options in ({"file.format": "avro"}, {"file.format.per.level": "0:avro"}):
        with pytest.raises(UnsupportedFeature) as caught:
            check_writable(given_schema(columns, key=["k"], options=options))
        (problem,) = caught.value.problems
        assert (problem.field, problem.value) == (name, value)
    check_writable(given_schema(columns, key=["k"], options={"file.format": "orc"}))


def test_a_format_that_only_the_version_implies_can_be_written() -> None:
    check_writable(replace(given_schema({"k": "INT"}, key=["k"]), version=2))


@pytest.mark.parametrize(
    "options",
    [
        {"changelog-producer": "input"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "full-compaction"},
        {"changelog-producer": "lookup", "merge-engine": "first-row"},
        {"deletion-vectors.enabled": "true"},
    ],
)
def test_options_of_compactions_do_not_prevent_writing(options: dict[str, str]) -> None:
    check_writable(given_schema({"k": "INT"}, key=["k"], options=options))


def test_buckets_can_be_made_as_they_are_needed() -> None:
    check_writable(
        given_schema(
            {"k": "INT", "p": "INT"}, key=["k", "p"], partition=["p"], options={"bucket": "-1"}
        )
    )


def test_rows_that_could_move_between_partitions_are_refused_with_a_hint() -> None:
    schema = given_schema(
        {"k": "INT", "p": "INT"}, key=["k"], partition=["p"], options={"bucket": "-1"}
    )

    with pytest.raises(UnsupportedFeature, match="add the partition columns") as caught:
        check_writable(schema)

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("primaryKeys", "k")
