"""Rules for options outside of merging."""

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from tests.unit.lake.merge.given_schemas import given_schema


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("primary-key", "k", "a part of the declaration"),
        ("partition", "v", "a part of the declaration"),
        ("path", "/elsewhere", "a part of the declaration"),
        ("type", "foo", "only tables of type `table`"),
        ("type", "format-table", "only tables of type `table`"),
        ("type", " table", "only tables of type `table`"),
        ("auto-create", "maybe", "true or false"),
        ("auto-create", " true", "true or false"),
        ("streaming-read-overwrite", " true", "true or false"),
        ("chain-table.enabled", "false ", "true or false"),
        ("target-file-size", "0", "from 1 to 9223372036854775807 bytes"),
        ("target-file-size", "0 mb", "from 1 to"),
        ("target-file-size", "9223372036854775808", "from 1 to"),
        ("dynamic-bucket.initial-buckets", "0", "from 1 to 2147483647"),
        ("dynamic-bucket.initial-buckets", "-1", "from 1 to"),
        ("dynamic-bucket.initial-buckets", "2147483648", "from 1 to"),
        ("dynamic-bucket.initial-buckets", "many", "from 1 to"),
        ("dynamic-bucket.initial-buckets", " 5", "from 1 to"),
    ],
)
def test_a_second_word_on_the_declaration_and_nonsense_are_refused(
    key: str, value: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema("k INT, v INT", options={key: value}))

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (key, value)
    assert message in problem.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("type", "table"),
        ("type", "TABLE"),
        ("auto-create", "true"),
        ("target-file-size", "1 b"),
        ("target-file-size", "9223372036854775807"),
        ("dynamic-bucket.initial-buckets", "1"),
    ],
)
def test_what_agrees_with_the_declaration_is_taken(key: str, value: str) -> None:
    validate_schema(given_schema("k INT, v INT", options={key: value}))


def test_a_malformed_size_is_reported_once() -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema("k INT, v INT", options={"target-file-size": "big"}))

    assert [problem.field for problem in caught.value.problems] == ["target-file-size"]
