"""The base of every contract: unknown fields are refused, values never change."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

INT_MAX: Final = 2_147_483_647  # what every reader of a declaration can hold, Java's `int` too

# Whole numbers and truth values as JSON writes them: neither `"4"` nor `1.0`, `"yes"` nor `1`.
PositiveInt = Annotated[int, Field(strict=True, gt=0, le=INT_MAX)]
StrictBool = Annotated[bool, Field(strict=True)]


class Contract(BaseModel):
    """A document that crosses a process border, as JSON.

    Frozen, so that a checked document stays checked. Unknown fields are refused, because a
    misspelt optional field would otherwise be silently without effect.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
