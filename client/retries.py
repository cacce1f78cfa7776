"""The rules by which a request is repeated: after which errors, how often, and after which pause. Pure."""

import random
from dataclasses import dataclass

from braid.client.errors import BraidError, NoAnswer, Refused
from braid.schemas.problem import RETRYABLE_CODES


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """When a request is repeated.

    Attributes:
        attempts: The largest number of attempts, the first one included; 1: nothing is repeated.
        first_seconds: Upper bound of the first pause; it doubles with each further one.
        longest_seconds: Upper bound of every pause. If the service asks for a longer one, the request is not repeated.
    """

    attempts: int = 4
    first_seconds: float = 0.1
    longest_seconds: float = 10.0

    def __post_init__(self) -> None:
        assert self.attempts >= 1, "the first attempt counts"


NO_RETRIES = Retries(attempts=1)


class Attempts:
    """The attempts of one request."""

    def __init__(self, retries: Retries, chance: random.Random, *, is_repeatable: bool) -> None:
        """Begin the first attempt.

        Args:
            retries: The rules.
            chance: The source of the jitter.
            is_repeatable: Whether the request may be made twice: it changes nothing, or its repetition changes nothing more.
        """
        self._retries = retries
        self._chance = chance
        self._is_repeatable = is_repeatable
        self._count = 1

    def pause(self, error: BraidError) -> float:
        """Return the seconds between a failed attempt and the next one, which then begins.

        Args:
            error: Why the attempt failed; raised if there is no further attempt.
        """
        rules = self._retries
        if self._count >= rules.attempts or not _is_temporary(error, self._is_repeatable):
            raise error
        bound = min(rules.first_seconds * 2 ** (self._count - 1), rules.longest_seconds)
        # Many clients fail at the same moment: the jitter keeps them from coming back at once.
        pause = self._chance.uniform(0.0, bound)
        asked = error.retry_after_seconds if isinstance(error, Refused) else None
        if asked is not None and asked > rules.longest_seconds:
            raise error
        self._count += 1
        return pause if asked is None else asked + pause


def _is_temporary(error: BraidError, is_repeatable: bool) -> bool:
    if isinstance(error, NoAnswer):
        return is_repeatable or error.is_unsent
    if not is_repeatable or not isinstance(error, Refused):
        return False
    # An equal request that another process carries out is a conflict, to which the service adds when to ask for its answer.
    return error.code in RETRYABLE_CODES or error.retry_after_seconds is not None
