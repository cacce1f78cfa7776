"""The base of every contract: unknown fields are refused, values never change."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

TOO_LONG: Final = "too_long"  # pydantic's own word
COLUMNS_MAX: Final = 5_000
OPTIONS_MAX: Final = 500
INT_MAX: Final = 2_147_483_647  # what every reader of a declaration can hold, Java's `int` too

# Whole numbers and truth values as JSON writes them: neither `"4"` nor `1.0`, `"yes"` nor `1`.
PositiveInt = Annotated[int, Field(strict=True, gt=0, le=INT_MAX)]
StrictBool = Annotated[bool, Field(strict=True)]


def at_most(count: int) -> BeforeValidator:
    """Return what refuses a list or object of more entries before any of them is looked at.

    A bound of the field itself is told after every entry has been checked, and complained about.
    """

    def check(value: Any) -> Any:
        if isinstance(value, list | tuple | Mapping) and len(value) > count:
            message = "at most {max_length} entries, found {actual_length}"
            context = {"max_length": count, "actual_length": len(value)}
            raise PydanticCustomError(TOO_LONG, message, context)
        return value

    return BeforeValidator(check)


class Contract(BaseModel):
    """A document that crosses a process border, as JSON.

    Frozen, so that a checked document stays checked. Unknown fields are refused, because a
    misspelt optional field would otherwise be silently without effect.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
