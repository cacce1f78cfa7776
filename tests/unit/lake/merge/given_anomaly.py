"""Surprising results of the reference, as conformance cases for tests and guides."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from braid.lake import Machine
from tests.conformance.case import parse_case
from tests.conformance.execute import run_table_case
from tests.conformance.merge_level import run_merge_case
from tests.conformance.values import Json

Row = Sequence[Json]
READ_FAILS: Mapping[str, str] = {"phase": "read", "class": "", "message": "the read fails"}
"""What a step expects when its commit succeeds and no read of the table does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A table, what is done to it, and the rows after each step.

    Attributes:
        columns: Type by name; the first is the primary key.
        options: Merge options.
        steps: What is done, and the rows of the table after it; or `READ_FAILS`.
        is_merge_level: Steps are records for the merge function alone, and what follows each is
            the merged row, with its kind.
    """

    columns: Mapping[str, Any]
    options: Mapping[str, str]
    steps: Sequence[tuple[Mapping[str, Any], Any]]
    is_merge_level: bool = False

    def case(self, case_id: str) -> dict[str, Any]:
        """Return it as a case."""
        key = next(iter(self.columns))
        columns = [{"name": name, "type": kind} for name, kind in self.columns.items()]
        columns[0]["type"] = f"{columns[0]['type']} NOT NULL"
        return {
            "id": case_id,
            "level": "merge" if self.is_merge_level else "table",
            "schema": {"columns": columns, "primary_key": [key], "partition": []},
            "options": {"bucket": "1", "write-only": "true", **self.options},
            "steps": [step for step, _ in self.steps],
            "expect": {"steps": [self._outcome(index) for index in range(len(self.steps))]},
        }

    def _outcome(self, index: int) -> dict[str, Any]:
        expected = self.steps[index][1]
        if expected is READ_FAILS:
            return {"error": dict(READ_FAILS)}
        if self.is_merge_level:
            return {"row": expected, "sequence": index}
        return {"rows": expected}


def write(*rows: Row) -> dict[str, Any]:
    """Return the step that commits rows `[kind, values...]`."""
    return {"write": list(rows)}


def add(*row: Json) -> dict[str, Any]:
    """Return the step that gives one record to the merge function."""
    return {"add": list(row)}


COMPACT: dict[str, Any] = {"compact": "full"}
"""The step that compacts the table fully."""

ANOMALIES: dict[str, Callable[[], Anomaly]] = {}
"""Every anomaly by the name of its test, for those who show or ask another engine about them all."""


def pinned(describe: Callable[[], Anomaly]) -> Callable[[Machine], None]:
    """Make a test of an anomaly: both machines give the answers that it states."""
    name = describe.__name__.removeprefix("test_")
    ANOMALIES[name] = describe

    @pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
    @functools.wraps(describe)
    def test(machine: Machine) -> None:
        anomaly = describe()
        case = parse_case(anomaly.case(name))
        if anomaly.is_merge_level:
            run_merge_case(case, machine)
        else:
            run_table_case(case, machine)

    test.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # pytest reads it
        [inspect.Parameter("machine", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    )
    return test
