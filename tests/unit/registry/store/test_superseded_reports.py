"""Reports that decide nothing any more."""

from typing import Any

import pytest

from braid.registry.store.superseded_reports import superseded_reports
from braid.schemas import RunnerProgress, StreamProgress, StreamState

Found = dict[str, tuple[int, RunnerProgress]]


def said(modified_ms: int, **streams: dict[str, Any]) -> tuple[int, RunnerProgress]:
    """The reports of a runner, and the time of their write by storage's clock."""
    progress = {
        key: StreamProgress(state=StreamState.RUNNING, **fields) for key, fields in streams.items()
    }
    return modified_ms, RunnerProgress(runner="r", started_ms=0, updated_ms=0, streams=progress)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param({"a": said(1, s={"epoch": 1})}, set(), id="the-only-one"),
        pytest.param(
            {"a": said(9, s={"epoch": 1}), "b": said(1, s={"epoch": 2})}, {"a"}, id="lower-epoch"
        ),
        pytest.param(
            {"a": said(1, s={"epoch": 1}), "b": said(9, s={"epoch": 1})}, {"a"}, id="earlier"
        ),
        pytest.param(
            {"a": said(1, s={"epoch": 1}), "b": said(1, s={"epoch": 1})}, set(), id="equal"
        ),
        pytest.param(
            {"a": said(1, s={"epoch": 1}, t={"epoch": 1}), "b": said(9, s={"epoch": 2})},
            set(),
            id="the-only-one-of-another-stream",
        ),
        pytest.param({"a": said(1, s={})}, {"a"}, id="waiting"),
        pytest.param({"a": said(1)}, {"a"}, id="no-streams"),
        pytest.param(
            {"a": said(1, s={"epoch": 1, "offsets": {0: 7}}), "b": said(9, s={"epoch": 2})},
            set(),
            id="the-only-one-with-offsets",
        ),
        pytest.param(
            {
                "a": said(1, s={"epoch": 1, "dead_letters_by_reason": {"poison": 3}}),
                "b": said(9, s={"epoch": 2, "dead_letters_by_reason": {"poison": 2}}),
            },
            set(),
            id="larger-counts",
        ),
        pytest.param(
            {
                "a": said(1, s={"epoch": 1}),
                "b": said(2, s={"epoch": 2}),
                "c": said(3, s={"epoch": 3}),
            },
            {"a", "b"},
            id="all-but-the-last",
        ),
    ],
)
def test_what_decides_something_stays(found: Found, expected: set[str]) -> None:
    assert superseded_reports(found, lambda _: True) == expected


def test_reports_of_streams_that_nobody_needs_decide_nothing() -> None:
    found = {"a": said(1, s={"epoch": 1}, gone={"epoch": 1}), "b": said(1, gone={"epoch": 1})}

    assert superseded_reports(found, lambda key: key != "gone") == {"b"}
