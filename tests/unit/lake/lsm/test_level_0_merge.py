"""Merges within level 0: when they are picked, and how many bytes they save."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.type_codec import parse_type
from braid.lake.lsm.compaction_pick import CompactionUnit, Picked, PickState, pick_compaction
from braid.lake.lsm.level_0_merge import can_merge_adjacent, pick_merge_or_compaction
from braid.lake.lsm.levels import Levels, levels_of
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.declared_options import SequenceGroup
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine, TableOptions
from tests.support.committing import data_file
from tests.support.compaction_history import Bucket

DEDUPLICATE = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("id",))
PARTIAL = MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=("id",))
OPTIONS: dict[str, str] = {}
LEVELS = "1:1000 2:2000 3:4000 4:8000"


def given_files(text: str) -> list[DataFileMeta]:
    """Return files of `level:size`, newest first; `c` behind was compacted, `-` has retracts."""
    words = text.split()
    files = []
    for index, word in enumerate(words):
        level, size = map(int, word.rstrip("c-").split(":"))
        number = 10 * (len(words) - index)
        files.append(
            data_file(
                f"f{index}",
                level=level,
                file_size=size,
                min_sequence_number=number,
                max_sequence_number=number + 9,
                delete_row_count=int(word.endswith("-")),
                file_source=FileSource.COMPACT if level or "c" in word else FileSource.APPEND,
            )
        )
    return files


def pick(
    files: list[DataFileMeta],
    spec: MergeSpec = DEDUPLICATE,
    given: Mapping[str, str] | None = None,
    state: PickState | None = None,
) -> Picked:
    options = TableOptions.parse({**OPTIONS, **(given or {})})
    return pick_merge_or_compaction(
        levels_of(files, options), spec, options, state or PickState(), now_ms=7, local_hour=12
    )


def count_and_level(unit: CompactionUnit | None) -> tuple[int, int] | None:
    """Return how many runs are taken, and where they go."""
    return None if unit is None else (len(unit.runs), unit.output_level)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # One more run than the trigger of 5 may be left.
        (f"0:10 0:10 {LEVELS}", (2, 0)),
        (f"0:10 0:30c {LEVELS}", None),
        (f"0:10 0:10 0:30c {LEVELS}", (2, 0)),
        (f"0:10 0:20c 0:40c {LEVELS}", (2, 0)),
        (f"0:10 0:10 0:20c 0:80c {LEVELS}", (3, 0)),
        # Level 0 has grown to what is worth a compaction: 400 * 400 > 10 * 15,000.
        (f"0:10 0:390c {LEVELS}", (3, 1)),
        # Nothing is new since the last merge.
        (f"0:390c {LEVELS} 5:8000", None),
        (f"0:10c 0:10c {LEVELS} 5:8000", (3, 1)),
        # Not many enough for a compaction.
        ("0:10 0:10 1:10000", None),
        # The compaction rewrites little besides.
        ("0:10 0:10 0:10 0:10 0:10 5:20", (6, 5)),
    ],
)
def test_new_files_are_merged_within_level_0_or_compacted(
    text: str, expected: tuple[int, int] | None
) -> None:
    assert count_and_level(pick(given_files(text)).unit) == expected


def test_without_runs_there_is_nothing_to_merge() -> None:
    assert pick([]).unit is None


def test_a_postponed_full_compaction_is_not_recorded_as_done() -> None:
    files = given_files("0:10 0:10 1:60 2:60 3:60 4:60 5:60")
    state = PickState(last_full_ms=3)

    assert count_and_level(pick(files, state=state).unit) == (2, 0)
    assert pick(files, state=state).state == replace(state, commits=2)
    assert pick(files, given={"force-lookup": "true"}, state=state).state.last_full_ms == 7


def test_an_early_full_compaction_is_not_put_off() -> None:
    files = given_files(f"0:10 0:10 {LEVELS}")

    assert count_and_level(pick(files, given={"compaction.optimization-interval": "1 h"}).unit) == (
        6,
        5,
    )


def test_files_too_large_for_a_plan_to_merge_are_compacted() -> None:
    files = given_files(f"0:10 0:10 {LEVELS}")

    assert count_and_level(pick(files, given={"target-file-size": "28 b"}).unit) != (2, 0)
    assert count_and_level(pick(files, given={"target-file-size": "29 b"}).unit) == (2, 0)


@pytest.mark.parametrize(
    "given",
    [
        {"force-lookup": "true"},
        {"deletion-vectors.enabled": "true"},
        {"changelog-producer": "lookup"},
        {"compaction.force-up-level-0": "true"},
    ],
)
def test_new_files_that_have_to_go_up_stay_apart(given: dict[str, str]) -> None:
    unit = pick(given_files(f"0:10 0:10 {LEVELS}"), given=given).unit

    assert unit is not None
    assert unit.output_level > 0


def test_retracts_are_merged_with_their_neighbours_where_only_one_record_wins() -> None:
    files = given_files(f"0:10- 0:10 {LEVELS}")

    assert count_and_level(pick(files).unit) == (2, 0)
    assert count_and_level(pick(files, PARTIAL).unit) == (3, 1)


def test_retracts_in_files_that_are_left_do_not_matter() -> None:
    files = given_files(f"0:10 0:10 0:300- {LEVELS}")

    assert count_and_level(
        pick(files, PARTIAL, {"num-sorted-run.compaction-trigger": "6"}).unit
    ) == (2, 0)


def test_files_with_records_between_theirs_are_taken_together() -> None:
    """The third file holds numbers of the second."""
    trigger = {"num-sorted-run.compaction-trigger": "6"}
    files = given_files(f"0:10 0:10 0:300 {LEVELS}")
    files[2] = replace(files[2], max_sequence_number=files[1].min_sequence_number + 1)

    assert count_and_level(pick(files, PARTIAL, trigger).unit) == (3, 0)
    assert count_and_level(pick(files, DEDUPLICATE, trigger).unit) == (2, 0)


def test_files_that_are_older_than_a_compaction_wait_for_the_next() -> None:
    """Their writer had its numbers before the compaction read the table."""
    files = given_files(f"0:10 0:10 {LEVELS}")
    late = [*files[:1], replace(files[1], min_sequence_number=1), *files[2:]]

    assert count_and_level(pick(late, PARTIAL).unit) == (3, 1)
    assert count_and_level(pick(late, DEDUPLICATE).unit) == (2, 0)


def function(name: str, column: str = "v", type_text: str = "BIGINT") -> ColumnFunction:
    return ColumnFunction(
        column=column, name=name, ignore_retract=False, options=(), type=parse_type(type_text)
    )


GROUP = SequenceGroup(ordering=("g",), protected=("v",))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"engine": MergeEngine.DEDUPLICATE, "sequence_fields": ("g",)}, True),
        ({"engine": MergeEngine.FIRST_ROW}, False),
        ({}, True),
        ({"groups": (GROUP,)}, True),
        ({"groups": (GROUP,), "not_null_columns": frozenset({"id", "v"})}, False),
        ({"groups": (GROUP,), "not_null_columns": frozenset({"id", "w"})}, True),
        ({"sequence_fields": ("g",)}, False),
        ({"functions": (function("max"),)}, True),
        ({"functions": (function("max"), function("listagg", "w", "STRING"))}, False),
        ({"functions": (function("last_non_null_value"),)}, True),
        ({"functions": (function("last_non_null_value"),), "groups": (GROUP,)}, False),
        ({"functions": (function("last_value"),), "groups": (GROUP,)}, True),
        ({"functions": (function("first_not_null_value"),)}, True),
        ({"functions": (function("sum"),)}, True),
        ({"functions": (function("sum", type_text="DECIMAL(38, 2)"),)}, False),
        ({"functions": (function("sum", type_text="DOUBLE"),)}, False),
        ({"functions": (function("product"),)}, False),
        ({"functions": (function("unheard_of"),)}, False),
    ],
)
def test_the_tables_whose_neighbours_are_merged(changes: dict[str, Any], expected: bool) -> None:
    assert can_merge_adjacent(replace(PARTIAL, **changes)) is expected


@pytest.mark.parametrize(
    ("rounds", "commits", "size_max", "share"),
    [(1_000, 1, None, 0.75), (500, 1, 20_000, 0.8), (500, 3, 20_000, 0.95)],
)
def test_it_saves_writing_and_costs_one_run(
    rounds: int, commits: int, size_max: int | None, share: float
) -> None:
    """Rounds of some small commits and a compaction; new keys all the time, or no longer."""
    options = TableOptions.parse({})

    def alone(levels: Levels, state: PickState, now_ms: int) -> Picked:
        return pick_compaction(levels, options, state, now_ms=now_ms, local_hour=12)

    def together(levels: Levels, state: PickState, now_ms: int) -> Picked:
        return pick_merge_or_compaction(
            levels, DEDUPLICATE, options, state, now_ms=now_ms, local_hour=12
        )

    buckets = [Bucket(options=options, pick=p, size_max=size_max) for p in (alone, together)]
    runs_max = [0, 0]
    for _ in range(rounds):
        for index, bucket in enumerate(buckets):
            for _ in range(commits):
                bucket.append(100)
            bucket.compact()
            runs_max[index] = max(runs_max[index], len(bucket.levels.runs))

    assert buckets[1].compacted < share * buckets[0].compacted
    assert runs_max[1] <= runs_max[0] + 1 == 6
