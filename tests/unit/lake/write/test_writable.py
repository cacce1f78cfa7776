"""Tables that this writer would get wrong are refused."""

from dataclasses import replace

import pytest

from lake.errors import UnsupportedFeature
from lake.write.writable import check_writable
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


def test_a_format_that_only_the_version_implies_is_named_as_well() -> None:
    schema = replace(given_schema({"k": "INT"}, key=["k"]), version=2)

    with pytest.raises(UnsupportedFeature, match=r"file\.format.*found `orc`"):
        check_writable(schema)


@pytest.mark.parametrize(
    ("option", "value"), [("changelog-file.format", "avro"), ("changelog-file.compression", "lzo")]
)
def test_changelog_files_that_cannot_be_written_are_refused(option: str, value: str) -> None:
    declared = {option: value}
    producing = given_schema(
        {"k": "INT"}, key=["k"], options=declared | {"changelog-producer": "input"}
    )

    check_writable(given_schema({"k": "INT"}, key=["k"], options=declared))
    with pytest.raises(UnsupportedFeature) as caught:
        check_writable(producing)

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (option, value)
    assert problem.hint


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
def test_what_compactions_have_to_do_is_no_hindrance_to_writing(options: dict[str, str]) -> None:
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
