"""The framework's application inside of the service's layers: the ASGI application of the service."""

from collections.abc import Callable

from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send


class BraidApp(FastAPI):
    """The framework's application inside of the service's layers.

    The layers are outside of the framework's own, which take longer than a row, and have what requests need that the
    framework never sees.
    """

    _layered: ASGIApp | None = None

    def wrap(self, layers: Callable[[ASGIApp], ASGIApp]) -> None:
        """Put layers around the framework."""
        self._layered = layers(super().__call__)

    def build_middleware_stack(self) -> ASGIApp:
        """Return the framework's own layers without the one that answers exceptions: `RequestContext` does."""
        stack = super().build_middleware_stack()
        assert isinstance(stack, ServerErrorMiddleware), "the framework's outermost layer"
        return stack.app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        assert self._layered is not None, "the layers are set before the first request"
        scope["app"] = self
        await self._layered(scope, receive, send)
