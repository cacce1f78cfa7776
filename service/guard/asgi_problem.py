"""Problem responses of ASGI layers, which refuse a request before the framework gets it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from braid.schemas import FieldProblem, ProblemCode
from braid.service.problems.problem_response import problem_response


async def send_problem(
    code: ProblemCode,
    detail: str,
    *,
    scope: Scope,
    receive: Receive,
    send: Send,
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
    before_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send a problem as the answer of a request that has an id.

    Args:
        code: The kind of problem.
        detail: The problem in words.
        scope: The request's scope.
        receive: The request's `receive`.
        send: The request's `send`.
        errors: Problems of fields.
        headers: Further headers of the answer.
        before_end: Awaited after the body has been sent and before its end is sent. Meanwhile the client can
            read the whole answer, and the server, which may close the connection at the end, keeps it open.
    """
    response = problem_response(
        code,
        detail,
        instance=Request(scope).url.path,
        request_id=scope["state"]["request_id"],
        errors=errors,
    )
    for name, value in (headers or {}).items():
        response.headers[name] = value
    if before_end is not None:
        # The body with `more_body` and then an empty part: the client receives the same, and the
        # server sees the end only after `before_end`.

        async def send_all_but_end(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "more_body": True}
            await send(message)

        await response(scope, receive, send_all_but_end)
        await before_end()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return
    await response(scope, receive, send)
