"""Rule for type changes of columns that order kept columns: the stored order bytes have to stay comparable.

Pure. A kept column is ordered by bytes that encode its group's ordering columns. The bytes of existing rows do not change
with a column's type. So a type may change only to a type whose values have the same bytes.
"""

from collections.abc import Iterator

from braid.lake import TableSchema, comparable_form
from braid.registry.alteration.change_locations import Origin, column_problem
from braid.schemas import FieldProblem, TableSpec
from braid.schemas.field_problems import quoted_list


def check_kept_orders(
    before: TableSpec, after: TableSpec, old: TableSchema, new: TableSchema, origin: Origin
) -> Iterator[FieldProblem]:
    """Yield the ordering columns whose new type has values of other bytes.

    Args:
        before: The declaration now.
        after: The declaration after the change.
        old: The newest schema.
        new: The schema after the change.
        origin: The requested changes, to locate problems.
    """
    types = {column.id: column.type for column in old.fields}
    for group in after.sequence_groups:
        known = before.sequence_group(group.name)
        if known is None or not known.keep:
            continue
        for name in group.ordering or ():
            found = new.fields_by_name.get(name)
            earlier = None if found is None else types.get(found.id)
            if found is None or earlier is None:
                continue
            if comparable_form(earlier) != comparable_form(found.type):
                yield column_problem(
                    origin,
                    name,
                    "type",
                    value=str(found.type),
                    message=f"the kept columns {quoted_list(known.keep)} are ordered by this column; the table stores "
                    f"the order as bytes of the column's values, and values of {found.type} have other bytes than values of {earlier}",
                    hint="widen integers to integers, texts to longer texts, times to finer ones, FLOAT to "
                    "DOUBLE, and DECIMAL without a change of its scale; or order by a new column in a new table",
                )
