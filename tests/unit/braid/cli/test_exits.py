"""Exit statuses: errors of this process have those of the same errors over HTTP."""

import inspect

import pytest

import braid.cli.exits
from braid.cli.exits import EXIT_FAILED, exit_of_error, exit_of_status
from braid.lake import LakeError
from braid.registry.errors import RegistryError
from braid.schemas import ProblemCode
from braid.service.problems import problem_table
from braid.service.problems.problem_table import STATUS_AND_TITLE

SHARED = [
    (kind, code)
    for kind, code in problem_table._CODES.items()
    if issubclass(kind, LakeError | RegistryError)
    and not kind.__module__.startswith(("braid.service", "braid.records"))
]


@pytest.mark.parametrize(("kind", "code"), SHARED, ids=lambda value: getattr(value, "__name__", ""))
def test_an_error_of_this_process_has_the_status_of_its_http_status(
    kind: type[Exception], code: ProblemCode
) -> None:
    error = kind.__new__(kind)

    assert exit_of_error(error) == exit_of_status(STATUS_AND_TITLE[code][0])


def test_the_table_of_the_module_has_every_status_of_a_problem() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in inspect.getdoc(braid.cli.exits).splitlines()  # type: ignore[union-attr]
        if line.startswith("| ") and "exit status" not in line
    ]
    described = {
        int(status): exit_ for exit_, statuses, _ in rows[1:] for status in statuses.split(",")
    }

    found = {str(exit_of_status(status)) for status, _ in STATUS_AND_TITLE.values()}
    assert {status for status, _ in STATUS_AND_TITLE.values()} <= set(described)
    assert found <= set(described.values())
    for status, exit_ in described.items():
        assert exit_of_status(status) == int(exit_), status


def test_a_status_of_a_newer_service_has_the_exit_status_of_its_class() -> None:
    assert [exit_of_status(status) for status in (418, 451, 507)] == [2, 2, EXIT_FAILED]
