"""Base class of all contracts, and bounded types that several of them use."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from braid.schemas.field_texts import describe_fields

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
SCALAR_LENGTH_MAX: Final = 1_000  # characters
Scalar: TypeAlias = (
    StrictBool
    | Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[str, Field(strict=True, max_length=SCALAR_LENGTH_MAX)]
)
"""A value in a declaration: a boolean, a number or a text."""


def at_most(count: int) -> BeforeValidator:
    """Return a validator that refuses a list or object of more than `count` entries before any entry is checked.

    A length bound of the field itself is checked only after every entry has been validated.
    """
    return BeforeValidator(partial(_refuse_more, count))


def entries_max(field: FieldInfo) -> int | None:
    """Return the largest number of entries that `at_most` lets a field have; None if it has no such bound."""
    for rule in field.metadata:
        if isinstance(rule, BeforeValidator) and isinstance(rule.func, partial):
            bound: int = rule.func.args[0]
            return bound
    return None


def _refuse_more(count: int, value: Any) -> Any:
    if isinstance(value, list | tuple | Mapping) and len(value) > count:
        message = "expected at most {max_length} entries, found {actual_length}"
        context = {"max_length": count, "actual_length": len(value)}
        raise PydanticCustomError(TOO_LONG, message, context)
    return value


def _storable(value: Any) -> Any:
    """Return a JSON value as it is, unless a stored document could not hold it."""
    try:
        # A number that keeps its digits is compared by its value.
        is_same = orjson.loads(orjson.dumps(value, default=float)) == value
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        is_same = False
    if not is_same:
        message = "expected integers of at most 64 bits, numbers that are finite, and Unicode texts"
        raise ValueError(message)
    return value


JsonValue: TypeAlias = Annotated[Any, AfterValidator(_storable)]
"""Any JSON value that a stored document can hold."""
JsonMessage: TypeAlias = Annotated[dict[str, Any] | list[Any], AfterValidator(_storable)]
"""An object or a list that a stored document can hold."""


LABELS_MAX: Final = 32
LABEL_LENGTH_MAX: Final = 128  # characters of a value
Labels: TypeAlias = Annotated[
    Mapping[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$")],
        Annotated[str, StringConstraints(strict=True, max_length=LABEL_LENGTH_MAX)],
    ],
    at_most(LABELS_MAX),
]
"""Names and values by which people find tables and streams again; nothing else depends on them."""
Owner: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""The team, person or address that answers for a table or stream."""


class Contract(BaseModel):
    """A JSON document that processes exchange.

    Frozen, so that a validated document stays valid. Unknown fields are refused, because a
    misspelt optional field would otherwise silently have no effect.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        json_schema_extra=describe_fields,
    )
