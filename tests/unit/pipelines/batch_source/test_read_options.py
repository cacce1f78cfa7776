"""Options of Spark's reader: read whole, or refused by name, all at once."""

import pytest

from braid.lake import InvalidRequest
from braid.pipelines.batch_source.read_options import ReadOptions, read_options

PLACE = {"warehouse": "/w", "table": "db.t"}


def test_options_are_read_whatever_their_case() -> None:
    given = {"Path": "/w/db.db/t", "COLUMNS": "a, b", "Snapshot-Id": "7", "split-size": "8 mb"}

    assert read_options(given) == ReadOptions(
        path="/w/db.db/t", columns=("a", "b"), snapshot_id=7, split_bytes=8 << 20
    )


@pytest.mark.parametrize(
    ("given", "is_newest"),
    [({}, True), ({"tag": "a"}, False), ({"timestamp": "0"}, False), ({"snapshot-id": "1"}, False)],
)
def test_without_a_state_the_newest_is_read(given: dict[str, str], is_newest: bool) -> None:
    assert read_options(PLACE | given).is_newest is is_newest


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ["warehouse", "table"]),
        ({"warehouse": "/w"}, ["table"]),
        ({"path": "/t", "table": "db.t"}, ["table"]),
        (PLACE | {"snapshot-id": "0"}, ["snapshot-id"]),
        (PLACE | {"snapshot-id": "x", "split-size": "0 mb"}, ["snapshot-id", "split-size"]),
        (PLACE | {"filter": "a = 1"}, ["filter"]),
        (PLACE | {"columns": ""}, ["columns"]),
        (PLACE | {"columns": "a, b,a"}, ["columns"]),
    ],
)
def test_everything_that_is_wrong_is_named(given: dict[str, str], fields: list[str]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_options(given)

    assert [problem.field for problem in raised.value.problems] == fields


@pytest.mark.parametrize("option", ["raw", "consumer-id", "maxfilespertrigger"])
def test_an_option_of_streaming_reads_is_refused_with_what_these_need(option: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_options(PLACE | {option: "1"})

    (problem,) = raised.value.problems
    assert problem.field == option
    assert "they name their start: `start` is `full` or `latest`" in str(problem.hint)
