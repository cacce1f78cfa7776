"""All pages of an answer that comes page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol, TypeVar


class Page(Protocol):
    """An answer with the token of the next page."""

    @property
    def next_page_token(self) -> str | None:
        """Token of the next page; None on the last one."""


PageT = TypeVar("PageT", bound=Page)


def pages(read: Callable[..., PageT], **arguments: Any) -> Iterator[PageT]:
    """Yield all pages of an operation, such as `pages(table.changes, after_snapshot_id=7)`.

    Args:
        read: An operation with the parameter `page_token`.
        arguments: Its other arguments, of every page.
    """
    token: str | None = None
    while True:
        page = read(**arguments, page_token=token)
        yield page
        token = page.next_page_token
        if token is None:
            return


async def async_pages(
    read: Callable[..., Awaitable[PageT]], **arguments: Any
) -> AsyncIterator[PageT]:
    """Yield all pages of an operation of the asynchronous client; see `pages`."""
    token: str | None = None
    while True:
        page = await read(**arguments, page_token=token)
        yield page
        token = page.next_page_token
        if token is None:
            return
