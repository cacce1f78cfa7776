"""`ReadAt`: the forms of a timestamp, at most one name, and the argument `at`."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from braid.lake import InvalidRequest, ReadAt

MOMENT = datetime(2026, 1, 31, 5, 15, tzinfo=UTC)
MOMENT_MS = 1_769_836_500_000


@pytest.mark.parametrize(
    ("timestamp", "time_ms"),
    [
        (MOMENT_MS, MOMENT_MS),
        (str(MOMENT_MS), MOMENT_MS),
        ("-1", -1),
        (-(1 << 63), -(1 << 63)),
        (0, 0),
        ("2026-01-31T05:15:00Z", MOMENT_MS),
        ("2026-01-31 06:15:00+01:00", MOMENT_MS),
        ("2026-01-31T05:15:00.0019Z", MOMENT_MS + 1),
        ("1969-12-31T23:59:59.9985Z", -2),
        (MOMENT, MOMENT_MS),
        (MOMENT.astimezone(timezone(timedelta(hours=-3))), MOMENT_MS),
    ],
)
def test_a_timestamp_is_milliseconds_or_iso_text_with_a_zone(
    timestamp: int | str | datetime, time_ms: int
) -> None:
    assert ReadAt(timestamp=timestamp).time_ms == time_ms


@pytest.mark.parametrize(
    "timestamp",
    [
        "2026-01-31T05:15:00",
        "2026-01-31",
        MOMENT.replace(tzinfo=None),
        "yesterday",
        "",
        "9" * 19,
        "9" * 5_000,
        "१२३",
        1.5,
        True,
        1 << 63,
        -(1 << 63) - 1,
    ],
    ids=str,
)
def test_any_other_timestamp_is_refused(timestamp: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ReadAt(timestamp=timestamp)

    (problem,) = refused.value.problems
    assert problem.field == "timestamp"
    assert problem.message.startswith("expected")


def test_a_state_has_one_name() -> None:
    with pytest.raises(InvalidRequest, match="only one of a snapshot") as refused:
        ReadAt(snapshot_id=1, tag="a", timestamp=0)

    assert [problem.field for problem in refused.value.problems] == ["tag", "timestamp"]


@pytest.mark.parametrize("snapshot_id", [0, -1, "1", True, 1.0])
def test_a_snapshot_is_a_whole_number_from_1(snapshot_id: Any) -> None:
    with pytest.raises(InvalidRequest, match="snapshot_id"):
        ReadAt(snapshot_id=snapshot_id)


def test_a_tag_is_text() -> None:
    tag: Any = 7

    with pytest.raises(InvalidRequest, match="the name of a tag"):
        ReadAt(tag=tag)


def test_a_state_as_text_names_its_kind() -> None:
    states = [ReadAt(), ReadAt(snapshot_id=3), ReadAt(tag="a"), ReadAt(timestamp=5)]

    assert list(map(str, states)) == [
        "the newest snapshot",
        "snapshot 3",
        "tag a",
        "the state of 5",
    ]
    assert [state.is_newest for state in states] == [True, False, False, False]


@pytest.mark.parametrize(
    ("at", "state"),
    [
        (None, ReadAt()),
        (3, ReadAt(snapshot_id=3)),
        (ReadAt(tag="a"), ReadAt(tag="a")),
        (ReadAt(timestamp=5), ReadAt(timestamp=5)),
    ],
    ids=str,
)
def test_an_argument_at_is_a_snapshot_id_or_a_state(at: Any, state: ReadAt) -> None:
    assert ReadAt.of(at) == state


@pytest.mark.parametrize(
    ("at", "field"), [("1", "at"), (1.0, "at"), (MOMENT, "at"), (0, "snapshot_id")], ids=str
)
def test_any_other_argument_at_is_refused(at: Any, field: str) -> None:
    with pytest.raises(InvalidRequest, match="expected") as refused:
        ReadAt.of(at)

    assert [problem.field for problem in refused.value.problems] == [field]
