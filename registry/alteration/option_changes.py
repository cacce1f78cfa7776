"""Changes of a table's options that follow from a changed declaration. Pure."""

from collections.abc import Sequence
from typing import Final

from braid.lake import (
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    TableSchema,
    rename_in_options,
)
from braid.registry.alteration.arrival_columns import actual_options
from braid.registry.layout.physical_table import physical_groups, physical_table
from braid.schemas import TableSpec

_OWN_OPTION: Final = "braid."


def option_changes(
    before: TableSpec, after: TableSpec, schema: TableSchema, changes: Sequence[SchemaChange]
) -> tuple[SchemaChange, ...]:
    """Return the changes of options that follow from a changed declaration.

    Args:
        before: The declaration now.
        after: The declaration after the change.
        schema: The newest. A table of an earlier version may lack options of ours that its
            declaration has since come to imply, and arrival in its groups; it gets both.
        changes: The engine's changes that precede the returned ones; the engine renames columns in options by
            itself.
    """
    old, new = dict(physical_table(before).options), physical_table(after).options
    # What the schema lacks counts as not declared before, so that it is set.
    for key in [key for key in old if _OWN_OPTION in key and key not in schema.options]:
        del old[key]
    # Options of groups are compared by the keys that the schema has for them, former ones included.
    for group in physical_groups(before):
        del old[group.option[0]]
    old |= actual_options(before, schema)
    for change in changes:
        if isinstance(change, RenameColumn) and len(change.path) == 1:
            old = rename_in_options(old, change.path[0], change.name)
    removed = [RemoveOption(key=key) for key in old if key not in new]
    written = [SetOption(key=key, value=new[key]) for key in new if old.get(key) != new[key]]
    return (*removed, *written)
