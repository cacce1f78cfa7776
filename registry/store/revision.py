"""Revisions and preconditions, which keep a caller from overwriting a change that it has not read."""

import hashlib
from dataclasses import dataclass

import orjson

from braid.registry.errors import PreconditionFailed
from braid.schemas import Contract

REVISION_LENGTH = 32  # hexadecimal digits: 128 bits


def revision_of(*parts: Contract) -> str:
    """Return a digest of the content: the same for equal content, on every machine."""
    values = [part.model_dump(mode="json") for part in parts]
    data = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).hexdigest()[:REVISION_LENGTH]


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """A condition on the current state before a change.

    Attributes:
        revisions: The current revision has to be one of these; None: any.
        exists: Whether the document or stream has to exist (True) or must not (False); None: either.
    """

    revisions: frozenset[str] | None = None
    exists: bool | None = None

    def check(self, current: str | None) -> None:
        """Raise unless the condition holds.

        Args:
            current: The current revision; None when the document or stream does not exist.

        Raises:
            PreconditionFailed: The condition does not hold.
        """
        if self.revisions is not None and current not in self.revisions:
            message = (
                "it has changed since it was read" if current else "it does not exist any more"
            )
            raise PreconditionFailed(message)
        if self.exists is not None and self.exists is not (current is not None):
            message = "it exists already" if current else "it does not exist"
            raise PreconditionFailed(message)


NO_PRECONDITION = Precondition()
