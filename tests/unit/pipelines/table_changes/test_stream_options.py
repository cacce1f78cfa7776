"""Options of Spark's streaming reader: read whole, or refused by name, all at once."""

import pytest

from braid.lake import InvalidRequest
from braid.pipelines.table_changes.stream_options import StreamOptions, stream_options

PLACE = {"warehouse": "/w", "table": "db.t"}


def test_options_are_read_whatever_their_case() -> None:
    given = {"Path": "/t", "START-timestamp": "7", "maxfilespertrigger": "8", "raw": "True"}

    assert stream_options(given) == StreamOptions(
        path="/t", timestamp="7", files_max=8, is_raw=True
    )


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ["start"]),
        ({"start": "newest"}, ["start"]),
        ({"start": "full", "start-tag": "a"}, ["start-tag"]),
        ({"start-snapshot-id": "0", "raw": "maybe"}, ["raw", "start-snapshot-id"]),
        ({"start-timestamp": "yesterday"}, ["start-timestamp"]),
        ({"start-timestamp": "2026-01-31T05:15:00"}, ["start-timestamp"]),
        ({"start": "full", "columns": "a,,b"}, ["columns"]),
        ({"start": "full", "snapshot-id": "1"}, ["snapshot-id"]),
    ],
)
def test_everything_that_is_wrong_is_named(given: dict[str, str], fields: list[str]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        stream_options(PLACE | given)

    assert [problem.field for problem in raised.value.problems] == fields
    for problem in raised.value.problems:
        assert problem.value == given.get(problem.field)
