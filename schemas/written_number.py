"""Numbers of JSON that keep their digits: a double holds 15 of them, and DECIMAL columns have up to 38."""

import math
from decimal import Decimal

_EXACT_CHARACTERS = 15
"""A text of so many characters has no more digits than a double holds."""


class WrittenNumber(float):
    """A number that a double does not hold as it is written; its value is that of the nearest double.

    Attributes:
        text: The number as it is written in JSON.
    """

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> "WrittenNumber":
        """Keep the text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def written_number(text: str) -> float:
    """Return a number of JSON with a fraction or an exponent (`parse_float` of `json.loads`): a `WrittenNumber` if a double loses digits."""
    number = float(text)
    if len(text) <= _EXACT_CHARACTERS or not math.isfinite(number):
        return number
    return number if Decimal(text) == Decimal(repr(number)) else WrittenNumber(text)
