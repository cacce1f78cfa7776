"""Operations of the API, each defined once for both clients.

An operation is a function that returns a `Call`: which parameters and which body are sent, and what the answer is.
As a method of a resource it sends the call. The method of a synchronous resource returns the answer, and that of
an asynchronous one a coroutine of it; type checkers see the parameters of the function in both cases.
"""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeAlias, TypeVar, overload

from pydantic import BaseModel

from braid.client.sending import AsyncSender, Decode, Request, Sender
from braid.schemas.merge_patch import MEDIA_TYPE as MERGE_PATCH

P = ParamSpec("P")
AnswerT = TypeVar("AnswerT")

Scalar: TypeAlias = str | int | float | bool
Query: TypeAlias = Mapping[str, Scalar | Sequence[str] | None]
JsonObject: TypeAlias = Mapping[str, Any]
"""A body as JSON, which the service alone checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[AnswerT]):
    """One call of an operation.

    Attributes:
        decode: Returns the answer from the response.
        names: Parts of the path that the resource does not have.
        query: Parameters; those that are None are left out.
        body: The body; None: `{}`, if the method takes one.
        headers: Headers; those that are None are left out.
        is_repeatable: Whether the call may be made twice; by default if its method changes nothing.
    """

    decode: Decode[AnswerT]
    names: Mapping[str, str] = field(default_factory=dict)
    query: Query = field(default_factory=dict)
    body: BaseModel | JsonObject | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    is_repeatable: bool | None = None


class Resource:
    """Something that has operations.

    Attributes:
        names: Parts of the paths of its operations: `database`, `table`, `stream`.
    """

    def __init__(self, sender: Any, names: Mapping[str, str]) -> None:
        """Make the operations of one resource sendable."""
        self._sender = sender
        self.names = names


class SyncResource(Resource):
    """A resource whose operations wait for the answer."""

    _sender: Sender


class AsyncResource(Resource):
    """A resource whose operations return coroutines."""

    _sender: AsyncSender


class Operation(Generic[P, AnswerT]):
    """A method and a path of the API, as a method of resources.

    Attributes:
        method: The HTTP method.
        path: The path, with `{names}`, as in the OpenAPI document.
        build: Returns the call.
    """

    def __init__(
        self, method: str, path: str, build: Callable[Concatenate[Any, P], Call[AnswerT]]
    ) -> None:
        """Define an operation; see `operation`."""
        self.method = method
        self.path = path
        self.build = build
        update_wrapper(self, build)  # type: ignore[arg-type]  # for `help` and documentation; it is not called

    @overload
    def __get__(self, resource: None, owner: type) -> Self: ...
    @overload
    def __get__(self, resource: SyncResource, owner: type) -> Callable[P, AnswerT]: ...
    @overload
    def __get__(
        self, resource: AsyncResource, owner: type
    ) -> Callable[P, Coroutine[Any, Any, AnswerT]]: ...
    def __get__(self, resource: Any, owner: type) -> Any:
        """Return the method of a resource."""
        if resource is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            made = self.build(resource, *args, **kwargs)
            return resource._sender.send(self._request(made, resource.names), made.decode)

        return update_wrapper(call, self.build)

    def _request(self, call: Call[AnswerT], names: Mapping[str, str]) -> Request:
        is_read = self.method == "GET"
        body = b"{}" if call.body is None else _json(call.body)
        return Request(
            method=self.method,
            path=self.path,
            names={**names, **call.names},
            query={name: value for name, value in call.query.items() if value is not None},
            headers={name: value for name, value in call.headers.items() if value is not None},
            body=None if is_read else body,
            is_repeatable=is_read if call.is_repeatable is None else call.is_repeatable,
        )


def operation(
    method: str, path: str
) -> Callable[[Callable[Concatenate[Any, P], Call[AnswerT]]], Operation[P, AnswerT]]:
    """Return a decorator that makes an operation of a function whose first parameter is the resource."""

    def define(build: Callable[Concatenate[Any, P], Call[AnswerT]]) -> Operation[P, AnswerT]:
        return Operation(method, path, build)

    return define


def patch_call(
    decode: Decode[AnswerT],
    patch: BaseModel | JsonObject,
    if_match: str | None = None,
    if_none_match: str | None = None,
    *,
    is_repeatable: bool | None = None,
) -> Call[AnswerT]:
    """Return a call whose body is a merge patch. Without a condition, it may be made twice."""
    is_conditional = if_match is not None or if_none_match is not None
    return Call(
        decode=decode,
        body=patch,
        headers={
            "content-type": MERGE_PATCH,
            "if-match": if_match,
            "if-none-match": if_none_match,
        },
        is_repeatable=not is_conditional if is_repeatable is None else is_repeatable,
    )


def _json(body: BaseModel | JsonObject) -> bytes:
    if isinstance(body, BaseModel):
        # Fields that were not given stay away: a service of an older version need not know them.
        return body.model_dump_json(exclude_unset=True, by_alias=True).encode()
    return json.dumps(dict(body)).encode()
