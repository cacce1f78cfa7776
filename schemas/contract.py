"""The base of every contract: unknown fields are refused, values never change."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A document that crosses a process border, as JSON.

    Frozen, so that a checked document stays checked. Unknown fields are refused, because a
    misspelt optional field would otherwise be silently without effect.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
