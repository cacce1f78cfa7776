"""Errors of expressions."""

from typing import Final

DEPTH_MAX: Final = 100
"""The largest depth of an expression's parts."""
SHOWN_MAX: Final = 100
"""The largest number of characters of an expression's part in a message."""


class ExpressionError(ValueError):
    """An expression cannot be used; the text says why.

    Attributes:
        hint: What to do instead.
    """

    def __init__(self, message: str, hint: str) -> None:
        """Take the reason and the hint."""
        super().__init__(message)
        self.hint = hint


def refused(message: str, hint: str) -> ExpressionError:
    """Return the error of an expression that cannot be used."""
    return ExpressionError(message, hint)


def too_deep() -> ExpressionError:
    """Return the error of an expression that is nested too deeply."""
    message = f"the expression is nested more than {DEPTH_MAX} levels deep"
    return ExpressionError(message, "use fewer parentheses, or compute a part of it elsewhere")
