"""The engine's change that adds the order column of a new kept column, and its position.

Pure.
"""

from collections.abc import Collection

from braid.lake import AddColumn, Position, PositionKind, parse_type
from braid.registry.layout.physical_table import ORDER_TYPE, order_column, physical_group
from braid.schemas import SequenceGroupSpec


def added_order_column(
    group: SequenceGroupSpec, name: str, *, tracking: bool, known: Collection[str]
) -> AddColumn:
    """Return the change that adds the order of a new kept column, behind the group's other generated columns.

    Args:
        group: The group before the change.
        name: The new kept column.
        tracking: Whether the table has tracking columns.
        known: The columns that the table has by then; an older table may lack some generated ones.
    """
    behind = [
        one for one in physical_group(group, tracking=tracking).generated_columns if one in known
    ]
    return AddColumn(
        path=(order_column(name),),
        type=parse_type(ORDER_TYPE),
        position=Position(kind=PositionKind.AFTER, neighbour=behind[-1]) if behind else None,
    )
