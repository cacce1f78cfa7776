"""The aggregate function of one column: its name, and its options as declared.

`spec.effective_functions` finds the functions of all columns of a table, including those that a default decides.

Source: merge-semantics 4, 5.
"""

from dataclasses import dataclass

from braid.lake.format.data_types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFunction:
    """The aggregate function of one column.

    Attributes:
        column: Name of the column.
        name: The function, spelt as in the option.
        ignore_retract: Retracts have no effect on the column.
        options: The other options `fields.<column>.<key>` as (key, value), sorted by key; read through
            `option`.
        type: The declared type of the column; None where values are not checked against it.
    """

    column: str
    name: str
    ignore_retract: bool = False
    options: tuple[tuple[str, str], ...] = ()
    type: DataType | None = None

    def option(self, key: str, default: str) -> str:
        """Return the value of `fields.<column>.<key>`, or the default."""
        return dict(self.options).get(key, default)
