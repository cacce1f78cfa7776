"""Which runs are picked: the worked tables of the specification, run by run."""

from dataclasses import dataclass

import pytest

from lake.lsm.compaction_pick import (
    CompactionUnit,
    Picked,
    PickState,
    pick_compaction,
)
from lake.lsm.levels import Levels, levels_of
from lake.options import TableOptions
from tests.support.committing import data_file

NO_AMPLIFICATION = {"compaction.max-size-amplification-percent": "1000000000"}
OPTION_NAMES = {
    "amp": "compaction.max-size-amplification-percent",
    "ratio": "compaction.size-ratio",
    "trigger": "num-sorted-run.compaction-trigger",
    "levels": "num-levels",
    "interval": "compaction.optimization-interval",
    "total": "compaction.total-size-threshold",
    "incremental": "compaction.incremental-size-threshold",
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


def told(unit: CompactionUnit | None) -> tuple[int, int] | None:
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
def test_what_is_picked(case: Case) -> None:
    forced = {"compaction.force-up-level-0": "true"} if case.force_up else {}

    assert told(pick(case.runs, options(case.options, **forced)).unit) == case.expected
