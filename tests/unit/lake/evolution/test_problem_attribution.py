"""Problems of a schema are located at the change that caused them."""

import pytest

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.evolution.change_problem import ChangeProblem
from braid.lake.evolution.change_schema import change_schema
from braid.lake.evolution.problem_attribution import attribute_problems
from braid.lake.evolution.schema_changes import (
    DropColumn,
    RemoveOption,
    SchemaChange,
    SetOption,
    UpdateComment,
)
from tests.unit.lake.evolution.test_change_schema import given_schema

OLD = Problem(field="old", value=None, message="was wrong before")
NEW = Problem(field="new", value=None, message="is wrong now")


def attributed(*after: list[Problem]) -> list[Problem]:
    """Return the problems of the last schema, given those after 0, 1, 2 … changes."""

    def check(count: int) -> None:
        message = "refused"
        raise InvalidRequest(message, problems=after[count])

    return attribute_problems(after[-1], len(after) - 1, check)


def test_a_problem_is_located_at_the_change_that_it_appears_with() -> None:
    assert attributed([], [], [NEW], [NEW]) == [ChangeProblem.at(1, NEW)]


def test_a_problem_that_was_mended_in_between_is_located_at_the_change_that_brought_it_back() -> (
    None
):
    assert attributed([], [NEW], [], [NEW]) == [ChangeProblem.at(2, NEW)]


def test_a_problem_of_the_table_before_all_changes_stays_as_it_is() -> None:
    assert attributed([OLD], [OLD], [OLD, NEW]) == [OLD, ChangeProblem.at(1, NEW)]


def test_a_problem_that_is_located_at_a_change_already_stays_there() -> None:
    located = ChangeProblem.at(0, NEW)

    assert attributed([], [], [located]) == [located]


def test_problems_of_changes_carry_index_part_and_option() -> None:
    schema = given_schema(options={"merge-engine": "deduplicate"})
    changes: list[SchemaChange] = [
        UpdateComment(comment="x"),
        DropColumn(path=("nope",)),
        RemoveOption(key="type"),
        SetOption(key="merge-engine", value="aggregation"),
    ]

    with pytest.raises(InvalidRequest) as refused:
        change_schema(schema, changes, has_snapshots=True, now_ms=0)

    found = [problem for problem in refused.value.problems if isinstance(problem, ChangeProblem)]
    assert [(one.index, one.part, one.option) for one in found] == [
        (1, "name", None),
        (2, "options.type", "type"),
        (3, "options.merge-engine", "merge-engine"),
    ]
