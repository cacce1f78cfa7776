"""Problems that are answered before the framework sees a request."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from schemas import FieldProblem, ProblemCode
from service.problems import problem_response


async def answer_problem(
    code: ProblemCode,
    detail: str,
    *,
    scope: Scope,
    receive: Receive,
    send: Send,
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send a problem as the answer of a request that has an id."""
    response = problem_response(
        code,
        detail,
        instance=Request(scope).url.path,
        request_id=scope["state"]["request_id"],
        errors=errors,
    )
    for name, value in (headers or {}).items():
        response.headers[name] = value
    await response(scope, receive, send)


def parameter_problem(
    field: str, *, value: str | None = None, message: str, hint: str
) -> FieldProblem:
    """Return the problem of something that is not in the body."""
    return FieldProblem(pointer=None, field=field, value=value, message=message, hint=hint)
