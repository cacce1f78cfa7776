"""No update is lost where each stream's columns have an ordering of their own."""

from pathlib import Path

import pytest

from braid.lake import Machine
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import TableSpec
from tests.property.lost_update import COLUMNS, GROUPS, NEWEST, NO_GROUPS, overtaken_table

BOTH = pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())


@BOTH
def test_with_groups_the_newest_value_wins(machine: Machine, tmp_path: Path) -> None:
    table = overtaken_table(tmp_path, GROUPS, machine)

    assert table.get({"k": 1}) == NEWEST
    table.compact(machine=machine)
    assert table.get({"k": 1}) == NEWEST


@BOTH
def test_without_groups_the_older_value_stays_for_good(machine: Machine, tmp_path: Path) -> None:
    """This is what the registration refuses: numbers of concurrent writers are no order."""
    table = overtaken_table(tmp_path, NO_GROUPS, machine)

    assert table.get({"k": 1}) == {**NEWEST, "a_at": 1, "a": 1}
    table.compact(machine=machine)
    assert table.get({"k": 1}) == {**NEWEST, "a_at": 1, "a": 1}


def test_a_table_without_groups_cannot_be_registered() -> None:
    problems = check_table("shop", "t", given_spec(sequence_groups=[]))

    assert [problem.value for problem in problems] == ["a_at", "a", "b_at", "b"]
    assert all("no sequence group orders this column" in problem.message for problem in problems)
    assert check_table("shop", "t", given_spec(sequence_groups=[], unordered="allowed")) == []


def test_the_table_with_groups_can_be_registered() -> None:
    groups = [
        {"name": "a", "ordering": ["a_at"], "columns": ["a"]},
        {"name": "b", "ordering": ["b_at"], "columns": ["b"]},
    ]

    assert check_table("shop", "t", given_spec(sequence_groups=groups)) == []


def given_spec(**fields: object) -> TableSpec:
    """Return the table of the schedule as it is registered."""
    declared: dict[str, object] = {
        "columns": [{"name": name, "type": kind} for name, kind in COLUMNS],
        "primary_key": ["k"],
        "merge_engine": "partial-update",
    }
    return TableSpec.model_validate(declared | fields)
