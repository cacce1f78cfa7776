"""Rules about answers: when a part is stale, when a row is complete, feature views with rules of their own, lookup indexes.

No stored row depends on them. The rules for declarations are in `registry/rules/tables`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from braid.schemas.contract import COLUMNS_MAX, Contract, PositiveInt, at_most

VIEWS_MAX: Final = 100
INDEXES_MAX: Final = 8
INDEX_COLUMNS_MAX: Final = 4
NAME_LENGTH_MAX: Final = 128  # characters, as of a column


class StalenessSpec(Contract):
    """The age at which a group's part of a row counts as stale.

    Attributes:
        default_seconds: Age for groups that `groups` does not name; None: never stale.
        groups: Age in seconds by group name.
    """

    default_seconds: PositiveInt | None = None
    groups: Mapping[str, PositiveInt] = Field(default_factory=dict)


class CompletenessSpec(Contract):
    """The groups that make a row complete once their streams have delivered.

    Attributes:
        groups: Names of groups, or `all`.
    """

    groups: tuple[str, ...] | Literal["all"] = "all"


class InsteadOfRow(StrEnum):
    """The answer of a feature view for a row that is incomplete or stale.

    `answer` is the row. `null` is null in the place of the row, beside the status that says why. `not_found` is
    the answer for a row that does not exist.
    """

    ANSWER = "answer"
    NULL = "null"
    NOT_FOUND = "not_found"


class ViewColumn(Contract):
    """A column of a feature view.

    Attributes:
        column: A declared column of the table.
        name: Its name in answers, unique in the view; None: the column's name.
    """

    column: str = Field(min_length=1, examples=["total"])
    name: str | None = Field(
        default=None, min_length=1, max_length=NAME_LENGTH_MAX, examples=["order_total"]
    )

    @property
    def shown_name(self) -> str:
        """The column's name in answers."""
        return self.name or self.column


class ViewSpec(Contract):
    """A feature view: some columns of a table for one use, with its own rules for stale and complete rows.

    The groups of a view are those that order or protect one of its columns, and those that `completeness` names.

    Attributes:
        name: The name, unique in the table.
        columns: The columns in the order in which they are answered.
        completeness: The groups that make a row of the view complete; `all`: those of the view's columns.
        staleness: The age at which a part of the row is stale; None: that of the table.
        on_incomplete: What is answered for a row in which a group of `completeness` is absent or deleted.
        on_stale: What is answered for a row in which a group of `completeness` is stale.
        description: A description for people.
    """

    name: str = Field(min_length=1, examples=["delivery_risk"])
    columns: Annotated[tuple[ViewColumn, ...], at_most(COLUMNS_MAX)] = Field(min_length=1)
    completeness: CompletenessSpec = Field(default_factory=CompletenessSpec)
    staleness: StalenessSpec | None = None
    on_incomplete: InsteadOfRow = InsteadOfRow.ANSWER
    on_stale: InsteadOfRow = InsteadOfRow.ANSWER
    description: str | None = None


class LookupIndexSpec(Contract):
    """A lookup index: the rows of a table are found by the values of these columns, of which several rows may have the same.

    Attributes:
        name: The name, unique in the table.
        columns: Declared columns, at most 4; a request gives a value for each.
    """

    name: str = Field(min_length=1, examples=["by_order"])
    columns: Annotated[tuple[str, ...], at_most(INDEX_COLUMNS_MAX)] = Field(
        min_length=1, examples=[["order_id"]]
    )
