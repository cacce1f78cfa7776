"""The aggregate function that one column of a table declares.

Source: merge-semantics 4, 5.
"""

from dataclasses import dataclass

from lake.format.data_types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFunction:
    """The aggregate function of one column.

    Attributes:
        column: Its name.
        name: The function, spelt as in the option.
        ignore_retract: Retracts leave the column alone.
        options: What `fields.<column>.<key>` options say besides, as (key, value), sorted by key;
            read through `option`.
        type: Of the column, as declared; None where nobody asks what values it may have.
    """

    column: str
    name: str
    ignore_retract: bool = False
    options: tuple[tuple[str, str], ...] = ()
    type: DataType | None = None

    def option(self, key: str, default: str) -> str:
        """Return the value of `fields.<column>.<key>`, or the default."""
        return dict(self.options).get(key, default)
