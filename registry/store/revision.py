"""What a caller has seen of a document, so that nobody overwrites what they have not seen."""

import hashlib
from dataclasses import dataclass

import orjson

from registry.errors import PreconditionFailed
from schemas import Contract

REVISION_LENGTH = 32  # hexadecimal digits: 128 bits


def revision_of(*parts: Contract) -> str:
    """Return a short name of the content: equal content, equal name, on every machine."""
    values = [part.model_dump(mode="json") for part in parts]
    data = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).hexdigest()[:REVISION_LENGTH]


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """What has to hold before a change.

    Attributes:
        revisions: One of these is what is there; None: not asked.
        exists: Whether there has to be something (True) or nothing (False); None: not asked.
    """

    revisions: frozenset[str] | None = None
    exists: bool | None = None

    def check(self, current: str | None) -> None:
        """Compare with what is there.

        Args:
            current: The revision of what is there; None when nothing is.

        Raises:
            PreconditionFailed: It is not what the caller has seen.
        """
        if self.revisions is not None and current not in self.revisions:
            message = "it has changed since it was read" if current else "there is none any more"
            raise PreconditionFailed(message)
        if self.exists is not None and self.exists is not (current is not None):
            message = "there is one already" if current else "there is none"
            raise PreconditionFailed(message)


NO_PRECONDITION = Precondition()
