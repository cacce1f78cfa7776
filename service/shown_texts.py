"""Replacement of texts in a status: returns a copy in which a given function has replaced every text.

The texts of reports of runners and backfills, and of errors of unreadable files, may contain paths of the storage.
`Components.shown` replaces the warehouse's address in them (by `braid.registry.store.paths.without_warehouse`), so that
no caller sees it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)


def with_shown_texts(status: ModelT, hide: Callable[[str], str]) -> ModelT:
    """Return a status with every text of its values, nested ones included, as `hide` returns it.

    Args:
        status: The status.
        hide: Returns the text to show (`without_warehouse`).
    """
    values = {name: _shown(getattr(status, name), hide) for name in type(status).model_fields}
    return status.model_copy(update=values)


def _shown(value: Any, hide: Callable[[str], str]) -> Any:
    if type(value) is str:  # a member of an enumeration is no text
        return hide(value)
    if isinstance(value, BaseModel):
        return with_shown_texts(value, hide)
    if isinstance(value, Mapping):
        return {name: _shown(inner, hide) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_shown(inner, hide) for inner in value)
    return value
