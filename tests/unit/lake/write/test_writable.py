"""Tables that this writer would get wrong are refused."""

import pytest

from lake.errors import UnsupportedFeature
from lake.write.writable import check_writable
from tests.given_tables import given_schema


def test_a_plain_table_can_be_written() -> None:
    check_writable(given_schema({"k": "INT"}, key=["k"]))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("bucket", "-1"),
        ("deletion-vectors.enabled", "true"),
        ("changelog-producer", "input"),
    ],
)
def test_option_is_refused_with_a_hint(option: str, value: str) -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options={option: value})

    with pytest.raises(UnsupportedFeature) as caught:
        check_writable(schema)

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (option, value)
    assert problem.hint
