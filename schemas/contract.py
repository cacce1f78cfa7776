"""Base class of all contracts, and bounded types that several of them use."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

TOO_LONG: Final = "too_long"  # pydantic's own error type
COLUMNS_MAX: Final = 5_000
OPTIONS_MAX: Final = 500
INT_MAX: Final = (
    2_147_483_647  # fits the integers of every reader of a declaration, Java's `int` too
)

# Strict: a number is not `"4"` or `1.0`, a boolean not `"yes"` or `1`.
PositiveInt = Annotated[int, Field(strict=True, gt=0, le=INT_MAX)]
NonNegativeInt = Annotated[int, Field(strict=True, ge=0, le=INT_MAX)]
StrictBool = Annotated[bool, Field(strict=True)]


def at_most(count: int) -> BeforeValidator:
    """Return a validator that refuses a list or object of more than `count` entries before any entry is checked.

    A length bound of the field itself is checked only after every entry has been validated.
    """

    def check(value: Any) -> Any:
        if isinstance(value, list | tuple | Mapping) and len(value) > count:
            message = "expected at most {max_length} entries, found {actual_length}"
            context = {"max_length": count, "actual_length": len(value)}
            raise PydanticCustomError(TOO_LONG, message, context)
        return value

    return BeforeValidator(check)


class Contract(BaseModel):
    """A JSON document that processes exchange.

    Frozen, so that a validated document stays valid. Unknown fields are refused, because a
    misspelt optional field would otherwise silently have no effect.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
