"""Problems of operations that have failed: those that an answer would have for the same error."""

from braid.schemas import OperationProblem
from braid.service.problems.error_handlers import disclosed
from braid.service.problems.problem_response import ERRORS_MAX
from braid.service.problems.problem_table import code_of


def operation_problem(error: Exception) -> OperationProblem:
    """Return the problem of an error of the engine or the registry."""
    detail, errors = disclosed(error)
    return OperationProblem(code=code_of(error), detail=detail, errors=errors[:ERRORS_MAX])
