"""The mapping of errors to HTTP."""

import pytest

import braid.lake.errors
from braid.formats.key_values import KeyRefused
from braid.registry import errors as registry_errors
from braid.schemas import ProblemCode
from braid.service.problems import problem_table
from braid.service.problems.problem_table import STATUS_AND_TITLE, code_of, code_of_status


def test_every_code_has_a_status_and_a_line_in_the_table() -> None:
    assert set(STATUS_AND_TITLE) == set(ProblemCode)
    for code, (status, _) in STATUS_AND_TITLE.items():
        assert problem_table.__doc__ is not None
        (line,) = [
            text for text in problem_table.__doc__.splitlines() if text.startswith(f"| {code} ")
        ]
        assert f"| {status} " in line


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (braid.lake.errors.InvalidRequest("x"), 422),
        (KeyRefused([]), 422),
        (braid.lake.errors.TableNotFound("x"), 404),
        (braid.lake.errors.TableExists("x"), 409),
        (braid.lake.errors.SchemaMismatch("x"), 409),
        (braid.lake.errors.UnsupportedFeature("x"), 501),
        (braid.lake.errors.CommitConflict("x"), 409),
        (braid.lake.errors.CommitUnknown("x"), 503),
        (braid.lake.errors.StorageUnavailable("x"), 503),
        (braid.lake.errors.CorruptData("x"), 500),
        (braid.lake.errors.LimitExceeded("x"), 413),
        (braid.lake.errors.LakeError("x"), 500),
        (registry_errors.DefinitionRefused("x"), 422),
        (registry_errors.DefinitionDiffers("x", kind="table"), 409),
        (registry_errors.DefinitionDiffers("x", kind="stream"), 409),
        (registry_errors.StreamNotFound("x"), 404),
        (registry_errors.StreamNotStopped("x"), 409),
        (registry_errors.PreconditionFailed("x"), 412),
        (registry_errors.RegistryConflict("x"), 409),
        (registry_errors.NoRunnerAnswers("x"), 503),
        (RuntimeError("x"), 500),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_error_has_the_status_of_its_nearest_class(error: Exception, status: int) -> None:
    assert STATUS_AND_TITLE[code_of(error)][0] == status


def test_a_status_that_the_framework_invents_is_an_internal_error() -> None:
    assert code_of_status(418) is ProblemCode.INTERNAL_ERROR
