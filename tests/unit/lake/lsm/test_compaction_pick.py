"""Compaction picks: the worked tables of the specification, run by run."""

from dataclasses import dataclass

import pytest

from braid.lake.lsm.compaction_pick import (
    CompactionUnit,
    Picked,
    PickState,
    first_pick_state,
    is_off_peak,
    pick_compaction,
)
from braid.lake.lsm.levels import Levels, levels_of
from braid.lake.options.table_options import TableOptions
from tests.support.committing import data_file

ONLY_RATIO = {"compaction.max-size-amplification-percent": "1000000000"}
OPTION_NAMES = {
    "amp": "compaction.max-size-amplification-percent",
    "ratio": "compaction.size-ratio",
    "trigger": "num-sorted-run.compaction-trigger",
    "levels": "num-levels",
    "interval": "compaction.optimization-interval",
    "total": "compaction.total-size-threshold",
    "incremental": "compaction.incremental-size-threshold",
    "commits": "full-compaction.delta-commits",
    "producer": "changelog-producer",
}


def options(text: str, **more: str) -> TableOptions:
    """Return options of `amp=25 ratio=1 ...`."""
    short = dict(word.split("=") for word in text.split())
    return TableOptions.parse(
        {**{OPTION_NAMES[name]: value for name, value in short.items()}, **more}
    )


def levels(text: str, given: TableOptions) -> Levels:
    """Return runs of `level:size`, newest first."""
    words = [tuple(map(int, word.split(":"))) for word in text.split()]
    files = [
        data_file(
            f"f{index}",
            level=level,
            file_size=size,
            min_sequence_number=1_000 - index,
            max_sequence_number=1_000 - index,
        )
        for index, (level, size) in enumerate(words)
    ]
    found = levels_of(files, given)
    assert [file.file_name for file in found.files] == [file.file_name for file in files]
    return found


def pick(
    text: str,
    given: TableOptions,
    state: PickState | None = None,
    *,
    now_ms: int = 0,
    local_hour: int = 12,
) -> Picked:
    return pick_compaction(
        levels(text, given), given, state or PickState(), now_ms=now_ms, local_hour=local_hour
    )


def count_and_level(unit: CompactionUnit | None) -> tuple[int, int] | None:
    """Return how many runs are taken, and where they go."""
    return None if unit is None else (len(unit.runs), unit.output_level)


@dataclass(frozen=True)
class Case:
    """Options, runs, and how many of them go where."""

    options: str
    runs: str
    expected: tuple[int, int] | None
    force_up: bool = False


CASES = {
    "U02 size amplification": Case("amp=25 ratio=1 trigger=3 levels=3", "0:1 0:2 0:3 0:3", (4, 2)),
    "U03 run count": Case("amp=25 ratio=1 trigger=3 levels=4", "0:1 1:1 2:1 3:50", (3, 2)),
    "U03 size ratio": Case("amp=25 ratio=1 trigger=3 levels=4", "0:1 1:2 2:3 3:50", (3, 2)),
    "U04 output is not level 0": Case(
        "amp=25 ratio=1 trigger=3 levels=4", "0:1 0:1 1:1 2:50", (3, 1)
    ),
    "U04 level 1 is taken in": Case(
        "amp=25 ratio=1 trigger=3 levels=4", "0:1 0:2 1:3 2:50", (3, 1)
    ),
    "U05 level 1 counts against level 2": Case(
        "amp=200 ratio=1 trigger=3 levels=3", "0:10 0:20 1:97 2:100", (4, 2)
    ),
    "U06 level 0 alone": Case(
        "amp=200 ratio=1 trigger=5 levels=6", "0:1 0:1 0:1 0:1024 0:1048576", (5, 5)
    ),
    "U09 too different": Case("amp=1000 ratio=10 trigger=3 levels=6", "1:8 2:9 3:10", None),
    "U09 alike enough": Case("amp=1000 ratio=20 trigger=3 levels=6", "1:8 2:9 3:10", (3, 5)),
    "U12 level 0 alone": Case(
        "amp=25 ratio=1 trigger=3 levels=3", "0:1 0:2 0:2 0:2", (4, 2), force_up=True
    ),
    "U12 with level 1": Case("amp=25 ratio=1 trigger=3 levels=3", "0:1 1:2 2:2", (3, 2), True),
    "U12 not the highest level": Case("amp=25 ratio=1 trigger=3 levels=3", "0:1 2:2", (1, 1), True),
    "U14 two new files": Case("amp=200 ratio=1 trigger=5 levels=3", "0:1 0:1", (2, 2), True),
    "U14 one of level 1": Case("amp=200 ratio=1 trigger=5 levels=3", "0:1 1:10", (2, 2), True),
    "U14 the highest stays": Case(
        "amp=200 ratio=1 trigger=5 levels=3", "0:1 0:5 2:10", (2, 1), True
    ),
    "U14 no level 0": Case("amp=200 ratio=1 trigger=5 levels=3", "2:10", None, True),
    "U14 level 0 alone": Case(
        "amp=200 ratio=1 trigger=5 levels=3", "0:1 0:5 0:10 0:20", (4, 2), True
    ),
    "U15 level 1 counts against level 2": Case(
        "amp=200 ratio=1 trigger=5 levels=3", "0:1 1:99 2:100", (3, 2), True
    ),
    "U15 not against a larger one": Case(
        "amp=200 ratio=1 trigger=5 levels=3", "0:1 1:99 2:102", (2, 1), True
    ),
    "nothing there": Case("amp=25 ratio=1 trigger=1", "", None),
    "fewer runs than the trigger": Case("amp=25 ratio=1 trigger=3", "0:50 0:50", None),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_pick_is_that_of_the_specification(case: Case) -> None:
    forced = {"compaction.force-up-level-0": "true"} if case.force_up else {}

    assert count_and_level(pick(case.runs, options(case.options, **forced)).unit) == case.expected


@pytest.mark.parametrize(
    ("runs", "expected", "in_release_2_0_0"),
    [("0:1 1:99 2:100", (3, 2), (2, 1)), ("0:1 0:2 1:97 2:99", (4, 2), (3, 1))],
)
def test_level_1_counts_although_release_2_0_0_would_leave_the_next_level(
    runs: str, expected: tuple[int, int], in_release_2_0_0: tuple[int, int]
) -> None:
    """Level 1 is rewritten either way; only with its size the next level is found to be due."""
    given = options("trigger=5 levels=3", **{"compaction.force-up-level-0": "true"})

    assert count_and_level(pick(runs, given).unit) == expected
    assert taken_by_release_2_0_0(levels(runs, given), 101) == in_release_2_0_0


@pytest.mark.parametrize(
    ("count", "expected"), [(2, (3, 2)), (3, (3, 2)), (4, (4, 3)), (5, (5, 5))]
)
def test_u01_where_a_unit_goes(count: int, expected: tuple[int, int]) -> None:
    """So many runs are alike, the next is much larger; level 1 is taken along in any case."""
    sizes = [1_000 ** max(0, index - count + 1) for index in range(5)]
    runs = " ".join(f"{lv}:{size}" for lv, size in zip((0, 0, 1, 3, 4), sizes, strict=True))

    assert count_and_level(pick(runs, options("trigger=5 levels=6", **ONLY_RATIO)).unit) == expected


def test_u07_size_amplification_again_and_again() -> None:
    """Every step puts a run of 1 in front."""
    expected = "2|3|4|1 4|6|1 6|8|1 8|1 1 8|11|1 11|1 1 11|14|1 14|1 1 14|1 1 1 14|18"
    sizes, found = [1], []
    for _ in range(17):
        sizes = [1, *sizes]
        # From level 2 on, and with so high a trigger, no other rule takes all of them.
        runs = " ".join(f"{level}:{size}" for level, size in enumerate(sizes, start=2))
        unit = pick(runs, options(f"amp=25 ratio=0 trigger={len(sizes)} levels=9")).unit
        if unit is not None and len(unit.runs) == len(sizes):
            sizes = [sum(sizes)]
        found.append(" ".join(map(str, sizes)))

    assert "|".join(found) == expected


def test_u08_size_ratio_again_and_again() -> None:
    """Every step puts a run of 1 in front; run i is on level i."""
    expected = (
        "5|1 5|1 1 5|1 1 1 5|4 5|1 4 5|1 1 4 5|3 4 5|1 3 4 5|2 3 4 5|1 2 3 4 5|16|1 16|1 1 16|"
        "1 1 1 16|4 16|1 4 16|1 1 4 16|3 4 16|1 3 4 16|2 3 4 16|1 2 3 4 16|11 16"
    )
    sizes, found = [1, 1, 1, 1], []
    for _ in range(23):
        sizes = [1, *sizes]
        runs = " ".join(f"{level}:{size}" for level, size in enumerate(sizes))
        unit = pick(runs, options("ratio=1 trigger=5 levels=9", **ONLY_RATIO)).unit
        if unit is not None:
            taken = len(unit.runs)
            sizes = [sum(sizes[:taken]), *sizes[taken:]]
        found.append(" ".join(map(str, sizes)))

    assert "|".join(found) == expected


def test_u10_an_interval_asks_for_a_full_compaction() -> None:
    given = options("amp=100 ratio=1 trigger=3 levels=3 interval=1000")
    state, found = PickState(), []
    for now_ms, runs in [
        (0, "0:1 1:3 2:5"),
        (1001, "0:1 1:3 2:5"),
        (1001, "0:1 1:3 2:5"),
        (1500, "0:3 1:3 2:5"),  # size amplification
        (2001, "0:1 1:3 2:5"),
    ]:
        picked = pick(runs, given, state, now_ms=now_ms)
        state = picked.state
        found.append(count_and_level(picked.unit))

    assert found == [(3, 2), (3, 2), None, (3, 2), None]
    assert state.last_full_ms == 1500


@pytest.mark.parametrize(
    ("given", "runs", "expected"),
    [
        ("total=10", "0:1 1:3 2:5", (3, 4)),
        ("total=10", "0:2 1:6 2:10", None),
        ("total=10", "4:5", None),
        ("", "0:1 0:1", None),
        ("interval=1000", "0:1", None),
        ("interval=1000", "", None),
        ("total=1000", "0:100 1:200", (2, 4)),
        ("total=1000", "0:500 1:500", None),
        ("total=1000", "0:500 1:1000", None),
        ("incremental=500", "0:400 1:200", (2, 4)),
        ("incremental=500", "0:100 1:200", None),
        ("incremental=500", "0:100 1:300 4:500", None),
        ("incremental=500", "0:100 1:300 2:300 4:500", (4, 4)),
    ],
)
def test_u11_u20_u22_u23_sizes_ask_for_a_full_compaction(
    given: str, runs: str, expected: tuple[int, int] | None
) -> None:
    assert count_and_level(pick(runs, options(f"trigger=9 levels=5 {given}")).unit) == expected


def test_u20_an_interval_begins_with_the_first_full_compaction() -> None:
    given = options("trigger=9 levels=5 interval=1000")

    assert full_times(given, PickState(), [0, 500, 1001, 1500]) == [0, 1001]


@pytest.mark.parametrize(
    ("last_full_ms", "expected"), [(9_500, [10_501]), (5_000, [10_000]), (None, [10_000])]
)
def test_u21_an_interval_begins_at_the_last_full_compaction(
    last_full_ms: int | None, expected: list[int]
) -> None:
    given = options("trigger=9 levels=5 interval=1000")

    assert full_times(given, PickState(last_full_ms=last_full_ms), [10_000, 10_501]) == expected


def test_u21_the_newest_file_on_the_highest_level_gives_that_time() -> None:
    files = [
        data_file("a", level=2, creation_time_ms=7_000),
        data_file("b", level=2, creation_time_ms=9_500, low=10, high=19),
        data_file("c", level=2, creation_time_ms=None, low=20, high=29),
        data_file("d", level=1, creation_time_ms=9_900),
    ]
    given = options("levels=3")

    assert first_pick_state(levels_of(files, given), utc_ms_of=lambda ms: ms - 100) == PickState(
        last_full_ms=9_400, commits=None
    )
    assert first_pick_state(levels_of(files[2:], given), utc_ms_of=int) == PickState(commits=None)


def test_u24_a_full_compaction_for_its_size_begins_the_interval_anew() -> None:
    given = options("trigger=9 levels=5 interval=1000 total=500")
    state, found = PickState(), []
    for now_ms, runs in [
        (0, "0:300 1:300"),
        (500, "0:30 1:30"),
        (1_001, "0:300 1:300"),
        (1_500, "0:300 1:300"),
        (1_501, "0:300 1:300"),
    ]:
        picked = pick(runs, given, state, now_ms=now_ms)
        state = picked.state
        found.append(picked.unit is not None)

    assert found == [True, True, False, False, True]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ("0:1 0:2 0:2 0:2", (4, 2)),
        ("0:2 1:2 2:2", (3, 2)),
        ("0:1 2:2", (1, 1)),
    ],
)
def test_u13_gentle_tables_wait_for_some_misses(runs: str, expected: tuple[int, int]) -> None:
    given = gentle(interval=5)
    state = PickState()
    found = []
    for _ in range(10):
        picked = pick(runs, given, state)
        state = picked.state
        found.append(count_and_level(picked.unit))

    assert found == [None, None, None, None, expected] * 2


def test_misses_count_on_over_other_picks() -> None:
    given = gentle(interval=5)

    picked = pick("0:1 0:1 0:1 0:1 0:1", given, PickState(misses=3))

    assert count_and_level(picked.unit) == (5, 2)
    assert picked.state.misses == 3


def test_radical_tables_wait_for_nothing() -> None:
    given = options("trigger=5 levels=3", **{"force-lookup": "true"})

    assert count_and_level(pick("0:1 2:2", given).unit) == (1, 1)


def test_gentleness_is_for_tables_that_need_lookup() -> None:
    given = options(
        "trigger=5 levels=3",
        **{"compaction.force-up-level-0": "true", "lookup-compact": "gentle"},
    )

    assert count_and_level(pick("0:1 2:2", given).unit) == (1, 1)


def test_other_tables_do_not_pick_level_0_by_itself() -> None:
    assert pick("0:1 2:2", options("trigger=5 levels=3")).unit is None


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        (-1, 5, []),
        (5, -1, []),
        (5, 5, []),
        (1, 3, [1, 2]),
        (22, 2, [0, 1, 22, 23]),
        (0, 23, list(range(23))),
    ],
)
def test_the_hours_that_are_off_peak(start: int, end: int, hours: list[int]) -> None:
    given = off_peak(start, end)

    assert [hour for hour in range(24) if is_off_peak(given, hour)] == hours


def test_off_peak_the_size_ratio_is_larger() -> None:
    given = off_peak(22, 2)
    runs = "1:8 2:9 3:10"

    assert pick(runs, given, local_hour=12).unit is None
    assert count_and_level(pick(runs, given, local_hour=23).unit) == (3, 5)


def test_files_that_are_above_the_declared_levels_are_the_highest() -> None:
    assert count_and_level(pick("0:1 0:1 7:1", options("amp=25 trigger=3 levels=3")).unit) == (3, 7)


def full_times(given: TableOptions, state: PickState, times: list[int]) -> list[int]:
    """Return at which of the times a full compaction is picked."""
    found = []
    for now_ms in times:
        picked = pick("0:100 1:200", given, state, now_ms=now_ms)
        state = picked.state
        if picked.unit is not None:
            found.append(now_ms)
    return found


@pytest.mark.parametrize(
    ("given", "runs", "expected"),
    [
        ("producer=full-compaction", "0:1", (1, 4)),
        ("producer=full-compaction", "0:1 4:1000", (2, 4)),
        ("producer=full-compaction", "3:1 4:1000", (2, 4)),
        ("producer=full-compaction", "4:1000", None),
        ("producer=full-compaction", "", None),
        ("producer=full-compaction commits=0", "0:1 4:1000", (2, 4)),
        ("producer=full-compaction commits=-1", "0:1 4:1000", (2, 4)),
        ("producer=full-compaction commits=3", "0:1 0:1 4:1000", None),
        ("producer=full-compaction commits=3", "0:1 0:1 0:1 4:1000", (4, 4)),
        ("commits=2", "0:1 4:1000", None),
        ("commits=2", "0:1 0:1 4:1000", (3, 4)),
        ("commits=0", "0:1 4:1000", (2, 4)),
        ("commits=-1", "0:1 0:1 4:1000", None),
        ("producer=none", "0:1 0:1 4:1000", None),
        ("producer=input", "0:1 0:1 4:1000", None),
    ],
)
def test_commits_ask_for_a_full_compaction(
    given: str, runs: str, expected: tuple[int, int] | None
) -> None:
    picked = pick(runs, options(f"trigger=9 levels=5 {given}"))

    assert count_and_level(picked.unit) == expected
    assert picked.is_early == (expected is not None)


def test_commits_count_on_over_other_picks() -> None:
    given = options("trigger=2 levels=5 commits=5")
    state, found = PickState(), []
    for runs in [
        "0:1 0:1 4:1000",  # size ratio takes two
        "3:2 4:1000",
        "0:1 3:2 4:1000",
        "0:1 3:200 4:1000",
        "0:1 0:1 3:200 4:1000",
        "0:1 4:1202",
    ]:
        picked = pick(runs, given, state)
        state = picked.state
        found.append((count_and_level(picked.unit), state.commits))

    assert found == [
        ((2, 3), 2),
        (None, 2),
        ((2, 3), 3),
        ((2, 3), 4),
        ((4, 4), 0),
        (None, 0),
    ]


@pytest.mark.parametrize(
    ("runs", "commits", "expected"),
    [("0:1 4:1000", 0, None), ("3:1 4:1000", None, (2, 4)), ("0:1 3:1 4:1000", None, (3, 4))],
)
def test_an_unknown_number_of_commits_is_enough(
    runs: str, commits: int | None, expected: tuple[int, int] | None
) -> None:
    given = options("trigger=9 levels=5 commits=8")
    state = first_pick_state(levels(runs, given), utc_ms_of=int)

    assert state.commits == commits
    assert count_and_level(pick(runs, given, state).unit) == expected


def gentle(interval: int) -> TableOptions:
    return options(
        "amp=1000 ratio=1 trigger=5 levels=3",
        **{
            "force-lookup": "true",
            "lookup-compact": "gentle",
            "lookup-compact.max-interval": str(interval),
        },
    )


def off_peak(start: int, end: int) -> TableOptions:
    return options(
        "amp=1000 ratio=10 trigger=3 levels=6",
        **{
            "compaction.offpeak.start.hour": str(start),
            "compaction.offpeak.end.hour": str(end),
            "compaction.offpeak-ratio": "10",
        },
    )


def taken_by_release_2_0_0(given: Levels, percent: int) -> tuple[int, int]:
    """Return what that release makes of a level 0 that has to go up."""
    runs = given.runs
    count = sum(run.level == 0 for run in runs)
    size = sum(run.size for run in runs[:count])
    for run in runs[count:]:
        if size * percent < run.size * 100:
            break
        size, count = size + run.size, count + 1
    if count < len(runs) and runs[count].level == 1:
        return count + 1, 1
    return (count, given.max_level) if count == len(runs) else (count, runs[count].level - 1)
