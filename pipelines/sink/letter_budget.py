"""Budget of dead letters: how many a micro-batch may have, by the stream's declaration or the runner's default. Pure.

| budget | counts | kept in |
|---|---|---|
| `count` of the stream | dead letters of the stream that were not replayed | the position in the table |
| `rate` of the stream | dead letters among the newest records of the stream (`RecentRecords`) | the position in the table |
| the runner's default, for streams that declare none | dead letters of one micro-batch | |

Counts that are kept in the position survive restarts. A micro-batch that would exceed the budget is not
committed at all.
"""

from dataclasses import dataclass
from typing import Final

from braid.lake import StreamPosition
from braid.pipelines.settings import DeadLetterBudget
from braid.schemas import DeadLetterBudgetSpec

RATE_RECORDS_MIN: Final = 1_000
"""Fewer records count as this many, so that one bad record among the first few does not stop a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedLetters:
    """How many dead letters a micro-batch may have.

    Attributes:
        number: The largest number.
        why: The bound in words, as the end of a sentence.
        hint: What to do about a micro-batch with more.
    """

    number: int
    why: str
    hint: str


def allowed_letters(
    declared: DeadLetterBudgetSpec | None,
    default: DeadLetterBudget,
    position: StreamPosition,
    *,
    records: int,
) -> AllowedLetters:
    """Return how many dead letters the next micro-batch of a stream may have.

    Args:
        declared: The stream's own budget.
        default: The budget of streams without one.
        position: The stream's position in the newest snapshot.
        records: Records of the micro-batch.
    """
    hint = "compare the stream's columns with the topic's messages"
    if declared is None:
        hint += "; to go on with more dead letters, declare a `dead_letter_budget`"
        number = default.limit(records)
        return AllowedLetters(number=number, why=f"at most {number} are allowed", hint=hint)
    letters = position.letters
    bounds = []
    if declared.count is not None:
        waiting = position.open_letters
        why = (
            f"the stream has {waiting} dead letters that were not replayed, and `dead_letter_budget.count` "
            f"allows {declared.count}"
        )
        bounds.append((max(0, declared.count - waiting), why))
    if declared.rate is not None:
        total = max(letters.recent.records + records, RATE_RECORDS_MIN)
        allowed = int(declared.rate * total)
        why = (
            f"the newest records before the micro-batch have {letters.recent.dead_lettered} dead letters, and "
            f"`dead_letter_budget.rate` allows {allowed} of {total}"
        )
        bounds.append((max(0, allowed - letters.recent.dead_lettered), why))
    assert bounds, "a declared budget has a bound"
    number, why = min(bounds)
    hint += (
        "; once they agree, start the stream: it reads the micro-batch again. To go on with more "
        "dead letters, raise `dead_letter_budget`, or replay existing dead letters"
    )
    return AllowedLetters(number=number, why=why, hint=hint)
