"""Rules for the file indexes of a table."""

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from tests.given_tables import given_schema

COLUMNS = {
    "k": "INT",
    "v": "STRING",
    "d": "DECIMAL(5, 2)",
    "a": {"type": "ARRAY", "element": "INT"},
    "m": {"type": "MAP", "key": "STRING", "value": "BIGINT"},
    "n": {"type": "MAP", "key": "INT", "value": "INT"},
}
BLOOM = "file-index.bloom-filter"


@pytest.mark.parametrize(
    ("options", "field", "value", "message"),
    [
        ({f"{BLOOM}.columns": "k,w"}, f"{BLOOM}.columns", "w", "no such column"),
        ({f"{BLOOM}.columns": "w[x]"}, f"{BLOOM}.columns", "w", "no such column"),
        ({f"{BLOOM}.columns": "d"}, f"{BLOOM}.columns", "d", "values of type DECIMAL(5, 2)"),
        ({f"{BLOOM}.columns": "a"}, f"{BLOOM}.columns", "a", "values of type ARRAY<INT>"),
        ({f"{BLOOM}.columns": "m"}, f"{BLOOM}.columns", "m", "values of type MAP"),
        ({f"{BLOOM}.columns": "n[1]"}, f"{BLOOM}.columns", "n[1]", "only a MAP with text keys"),
        ({f"{BLOOM}.columns": "v[x]"}, f"{BLOOM}.columns", "v[x]", "only a MAP with text keys"),
        (
            {f"{BLOOM}.columns": "k", f"{BLOOM}.k.items": "2147483647"},
            f"{BLOOM}.columns",
            "k",
            "take more than",
        ),
        ({f"{BLOOM}.columns": "k", f"{BLOOM}.k.fpp": "2"}, f"{BLOOM}.k.fpp", "2", "below 1"),
        ({"file-index.bitmap.columns": "w"}, "file-index.bitmap.columns", "w", "no such column"),
        ({"file-index.bloom.columns": "k"}, "file-index.bloom.columns", "k", "kind `bloom`"),
    ],
)
def test_an_index_that_cannot_be_is_refused(
    options: dict[str, str], field: str, value: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema(COLUMNS, key=["k"], options=options))

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (field, value)
    assert message in problem.message


@pytest.mark.parametrize(
    "options",
    [
        {f"{BLOOM}.columns": "k,v,m[x],m[y]", f"{BLOOM}.m.items": "7"},
        {"file-index.bitmap.columns": "d", "file-index.bsi.columns": "k"},
        {"file-index.range-bitmap.columns": "d"},
    ],
)
def test_an_index_that_can_be_is_taken(options: dict[str, str]) -> None:
    validate_schema(given_schema(COLUMNS, key=["k"], options=options))


def test_an_unreadable_threshold_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"file-index\.in-manifest-threshold: expected a size"):
        validate_schema(
            given_schema(COLUMNS, key=["k"], options={"file-index.in-manifest-threshold": "large"})
        )
