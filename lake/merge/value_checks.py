"""Checks for values that do not fit a column's aggregate function, before they are written.

A value is merged long after it was accepted. If the function cannot read the value, its merge with another record of
the key fails, and so does every full scan and compaction. A sketch of another size than the column declares lowers
the precision of its union. So a stream turns a record with such a value into a dead letter. The writer refuses the
value, too, unless the format stores it (`stores_unfit`).

Source: ours; merge-semantics 4 has what the functions read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from braid.lake.errors import Problem
from braid.lake.format.arrays import combined_array
from braid.lake.format.schema import TableSchema
from braid.lake.merge.aggregate_function import UnfitValue
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.functions.user_function_errors import user_function_errors
from braid.lake.merge.spec import effective_functions


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChecks:
    """The columns of a table with functions that some values may not fit.

    Attributes:
        functions: The function of each such column.
    """

    functions: dict[str, ColumnFunction]

    @classmethod
    def of(cls, schema: TableSchema) -> "ValueChecks":
        """Return the checks of a table.

        Raises:
            UnsupportedFeature: A user's function cannot be loaded from its package.
        """
        found = {}
        for function in effective_functions(schema):
            declaration = function_named(function.name)
            if declaration is not None and declaration.unfit is not None:
                found[function.column] = function
        return cls(functions=found)

    def unfit(self, column: str, values: pa.Array | pa.ChunkedArray) -> Iterator[UnfitValue]:
        """Yield the values of a column that do not fit its function, in their order.

        Args:
            column: Any column.
            values: The column's values, in the Arrow form of the table's type.

        Raises:
            SchemaMismatch: The check of a user's function fails.
        """
        function = self.functions.get(column)
        declaration = None if function is None else function_named(function.name)
        if function is None or declaration is None or declaration.unfit is None:
            return
        with user_function_errors(function, "`unfit`"):
            yield from declaration.unfit(function, combined_array(values))

    def problems(self, rows: pa.Table) -> Iterator[Problem]:
        """Yield one problem for each column with values that the writer refuses."""
        for column, function in self.functions.items():
            declaration = function_named(function.name)
            if declaration is None or declaration.stores_unfit:
                continue
            found = list(self.unfit(column, rows.column(column)))
            if found:
                first = found[0]
                yield Problem(
                    field=column,
                    value=first.value,
                    message=f"row {first.row}: {first.message} ({len(found)} of {rows.num_rows} rows)",
                    hint=first.hint,
                )
