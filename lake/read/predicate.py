"""Conditions on rows: what a scan keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa


class Operator(StrEnum):
    """How a condition compares a column with its value."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    IN = "in"
    IS_NULL = "is_null"
    NOT_NULL = "not_null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison; several of them are a conjunction.

    As in SQL a comparison with a null is not true, whatever the operator.

    Attributes:
        column: A column of the table.
        op: One of `Operator`'s values, as text or member.
        value: What to compare with, as `pa.Array.to_pylist()` would give it; a list for `in`;
            None for `is_null` and `not_null`.
    """

    column: str
    op: str
    value: object = None


def matching_rows(table: pa.Table | pa.RecordBatch, where: Sequence[Condition]) -> pa.Array:
    """Return a boolean array without nulls: True where all conditions hold."""
    raise NotImplementedError
