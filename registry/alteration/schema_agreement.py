"""Agreement of a table's schema with its declaration, after a change that breaks no rule. Pure.

After such a change a difference can only come from changes that were made without the registry.
"""

from collections.abc import Iterator

from braid.lake import TableSchema
from braid.registry.alteration.change_locations import Origin, column_problem
from braid.registry.layout.physical_table import physical_table
from braid.schemas import FieldProblem, TableDocument


def check_agreement(
    after: TableDocument, schema: TableSchema, origin: Origin
) -> Iterator[FieldProblem]:
    """Yield the declared columns and options that the schema does not have as declared."""
    definition = physical_table(after.table)
    for column in definition.columns:
        found = schema.fields_by_name.get(column.name)
        if found is None or str(found.type) != str(column.type):
            yield column_problem(
                origin,
                column.name,
                "column",
                value=column.name,
                message="the table has "
                + ("no such column" if found is None else f"this column as {found.type}")
                + f", but {column.type} is declared: the table was changed without the registry",
                hint="undo the change with the program that made it, then repeat this request",
            )
    for key, value in definition.options.items():
        if schema.options.get(key) != value:
            yield FieldProblem(
                pointer=None,
                field=f"table.options.{key}",
                value=schema.options.get(key),
                message=f"`{value}` is declared: the table was changed without the registry",
                hint="undo the change with the program that made it, then repeat this request",
            )
