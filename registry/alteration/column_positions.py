"""Positions of added and moved columns, in the declaration and in the schema.

Pure. In the schema, the generated columns of sequence groups come after the declared columns. So the last position
of the declaration is not the last position of the schema.
"""

from typing import assert_never

from braid.lake import Position, PositionKind
from braid.registry.alteration.altered_table import refuse
from braid.registry.layout.physical_table import physical_groups
from braid.schemas import ColumnPlace, ColumnPosition, ColumnSpec, TableSpec
from braid.schemas.field_problems import quoted_list


def position_after_declared(spec: TableSpec) -> Position:
    """Return the position behind the declared columns and before those generated for groups."""
    return Position(kind=PositionKind.AFTER, neighbour=spec.columns[-1].name)


def declared_position(spec: TableSpec, position: ColumnPosition | None) -> Position:
    """Return the requested position among the declared columns.

    Args:
        spec: The declaration that the column is inserted into.
        position: The requested position; None means behind the last declared column.

    Raises:
        RefusedChange: There is no such position.
    """
    if position is None or position.place is ColumnPlace.LAST:
        _check_neighbour(position)
        return position_after_declared(spec)
    found = engine_position(position)
    if found.neighbour is not None and found.neighbour not in spec.column_names:
        generated = {name for group in physical_groups(spec) for name in group.generated_columns}
        is_generated = found.neighbour in generated
        message = (
            "this column is generated for a sequence group" if is_generated else "no such column"
        )
        refuse("position", found.neighbour, message, f"columns: {quoted_list(spec.column_names)}")
    return found


def engine_position(position: ColumnPosition) -> Position:
    """Return the requested position; the engine checks whether the neighbour exists.

    Raises:
        RefusedChange: A neighbour is missing, or given where none is needed.
    """
    _check_neighbour(position)
    return Position(kind=PositionKind(position.place.value), neighbour=position.neighbour)


def insert_column(
    columns: tuple[ColumnSpec, ...], column: ColumnSpec, position: Position
) -> tuple[ColumnSpec, ...]:
    """Return the columns with one more column, at a position that `declared_position` returned."""
    names = [one.name for one in columns]
    match position.kind:
        case PositionKind.FIRST:
            index = 0
        case PositionKind.LAST:
            index = len(columns)
        case PositionKind.AFTER | PositionKind.BEFORE:
            assert position.neighbour is not None
            index = names.index(position.neighbour) + (position.kind is PositionKind.AFTER)
        case _:
            assert_never(position.kind)
    return (*columns[:index], column, *columns[index:])


def _check_neighbour(position: ColumnPosition | None) -> None:
    if position is None:
        return
    is_beside = position.place in (ColumnPlace.AFTER, ColumnPlace.BEFORE)
    if is_beside and position.neighbour is None:
        hint = "give it as `neighbour`"
        refuse(
            "position", position.place, f"`{position.place.value}` needs the name of a column", hint
        )
    if not is_beside and position.neighbour is not None:
        message = f"`{position.place.value}` does not take a neighbour"
        refuse("position", position.neighbour, message, "leave it out")
