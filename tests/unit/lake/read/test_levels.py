"""Levels in scans: marked rows are skipped, new rows may be hidden, compacted records replace older ones."""

import operator
from collections.abc import Mapping
from dataclasses import replace

import pytest

from braid.lake.merge.fold import Machine
from tests.given_tables import GivenTable, given_schema

VECTORS = {"deletion-vectors.enabled": "true"}
ON_READ = {**VECTORS, "deletion-vectors.merge-on-read": "true"}
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
LOOKUP = {"changelog-producer": "lookup"}

pytestmark = pytest.mark.parametrize("machine", list(Machine))


def given_table(options: Mapping[str, str]) -> GivenTable:
    return GivenTable(schema=given_schema({"k": "INT", "v": "INT"}, key=["k"], options=options))


def given_levels(options: Mapping[str, str], *levels: int) -> GivenTable:
    """Return a table of one file per level, keys 1 to 3; the values are 10, 20, … by file."""
    table = given_table(options)
    for number, level in enumerate(levels, start=1):
        table.write(*[[key, 10 * number] for key in (1, 2, 3)])
        table.move(number - 1, level)
    return table


@pytest.mark.parametrize("bitmap64", ["false", "true"])
def test_marked_rows_are_skipped_and_files_read_without_a_merge(
    machine: Machine, bitmap64: str
) -> None:
    table = given_levels({**VECTORS, "deletion-vectors.bitmap64": bitmap64}, 5, 4)
    table.mark({0: [0, 1, 2], 1: [2]})

    # Key 3 is marked everywhere: it was removed.
    assert table.read(machine=machine) == [(1, 20), (2, 20)]


def test_rows_on_level_0_are_hidden_until_a_compaction(machine: Machine) -> None:
    table = given_levels(VECTORS, 5)
    table.write([1, 99], [4, 99])

    assert table.read(machine=machine) == [(1, 10), (2, 10), (3, 10)]


def test_rows_on_level_0_are_read_where_reads_merge_them(machine: Machine) -> None:
    table = given_levels(ON_READ, 5)
    table.write([1, 99], [2, None], [4, 99], kinds="+I -D +I")
    table.mark({0: [2]})

    assert table.read(machine=machine) == [(1, 99), (4, 99)]


def test_a_marked_row_is_not_merged(machine: Machine) -> None:
    """The row of level 4 is the sum of that on level 5 and what came then."""
    table = given_levels({**ON_READ, **SUM}, 5, 4, 0)
    table.mark({0: [0, 1]})

    # Of key 3, too, only the lowest level counts: it has all that is below.
    assert table.read(machine=machine) == [(1, 50), (2, 50), (3, 50)]


@pytest.mark.parametrize("options", [LOOKUP, {"force-lookup": "true"}])
def test_of_compacted_records_only_the_one_on_the_lowest_level_counts(
    machine: Machine, options: dict[str, str]
) -> None:
    table = given_levels({**SUM, **options}, 5, 3, 0)

    assert table.read(machine=machine) == [(1, 50), (2, 50), (3, 50)]


def test_without_lookup_all_compacted_records_are_summed(machine: Machine) -> None:
    table = given_levels(SUM, 5, 3, 0)

    assert table.read(machine=machine) == [(1, 60), (2, 60), (3, 60)]


def test_a_single_record_of_a_table_with_lookup_is_not_merged(machine: Machine) -> None:
    """The merge engine would turn a retract into a row (merge-semantics 1.6)."""
    table = given_table({**SUM, **LOOKUP})
    table.write([1, 10], [2, 20], kinds="-U +I")
    table.write([0, 7], [3, 30])

    assert table.read(machine=machine) == [(0, 7), (2, 20), (3, 30)]
    table.write([1, 5])
    assert table.read(machine=machine) == [(0, 7), (1, -5), (2, 20), (3, 30)]


def test_a_merged_first_row_is_the_oldest_record(machine: Machine) -> None:
    """No compaction leaves a key on two levels; a file with retracts is merged all the same."""
    table = given_levels({"merge-engine": "first-row"}, 5, 3)
    entry = table.entries[1]
    table.entries[1] = replace(entry, file=replace(entry.file, delete_row_count=1))

    assert table.read(machine=machine) == [(1, 10), (2, 10), (3, 10)]


def test_a_bucket_may_have_more_levels_than_fit_a_byte(machine: Machine) -> None:
    """As many as `num-sorted-run.compaction-trigger` says, and one more."""
    table = given_levels({**SUM, **LOOKUP}, 300, 200, 0)

    assert table.read(machine=machine) == [(1, 50), (2, 50), (3, 50)]


def test_a_projection_does_not_change_which_record_wins(machine: Machine) -> None:
    table = given_levels({**SUM, **LOOKUP}, 5, 3, 0)

    assert table.read(columns=["v"], machine=machine) == [(50,), (50,), (50,)]


@pytest.mark.parametrize("options", [VECTORS, ON_READ, LOOKUP])
@pytest.mark.parametrize("where", [("k", "=", 2), ("v", "=", 20), ("v", "=", 10), ("v", "<", 15)])
def test_conditions_apply_to_merged_rows(
    machine: Machine, options: dict[str, str], where: tuple[object, ...]
) -> None:
    levels = [5, 3] if options is VECTORS else [5, 3, 0]
    table = given_levels(options, *levels)
    if options is not LOOKUP:
        table.mark({0: [0, 1], 1: [2]} if options is VECTORS else {0: [0, 1, 2]})
    merged = table.read(machine=machine)
    column = ("k", "v").index(str(where[0]))
    holds = getattr(operator, {"=": "eq", "<": "lt"}[str(where[1])])

    assert table.read(where, machine=machine) == [
        row for row in merged if holds(row[column], where[2])
    ]


def test_key_conditions_skip_row_groups_of_marked_files(machine: Machine) -> None:
    table = given_table(VECTORS)
    rows = 200_000
    table.write(*[[key, key] for key in range(rows)])
    table.move(0, 5)
    table.mark({0: [rows - 2]})

    assert table.read(("k", ">=", rows - 3), machine=machine) == [
        (rows - 3, rows - 3),
        (rows - 1, rows - 1),
    ]
    assert table.counters.row_groups_skipped > 0
