"""The readings of `braid watch` as a table for people."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from braid.cli.output import NOTHING, TextTable, state_cell
from braid.cli.watch.readings import Reading

_COLUMNS: Final = (
    "table",
    "stream",
    "state",
    "lag (s)",
    "lag (records)",
    "records/s",
    "records",
    "dead letters",
    "runner",
)
_NUMBERS: Final = frozenset(_COLUMNS[3:8])


def readings_text(readings: Sequence[Reading], *, lines_max: int | None = None) -> TextTable:
    """Return a line for each stream.

    Args:
        readings: The streams, the worst first.
        lines_max: The number of lines that there is room for; None: any.
    """
    shown = readings if lines_max is None else readings[:lines_max]
    rows: list[tuple[str | Text, ...]] = [
        (
            one.table,
            one.stream,
            state_cell(one.state.value),
            _number(one.lag_seconds),
            _number(one.lag_records),
            _number(one.records_per_second),
            _number(one.records),
            _number(one.dead_letters),
            one.runner or NOTHING,
        )
        for one in shown
    ]
    hidden = len(readings) - len(shown)
    if hidden:
        rows.append((f"and {hidden} more", *[""] * (len(_COLUMNS) - 1)))
    return TextTable(columns=_COLUMNS, rows=rows, numbers=_NUMBERS)


def _number(value: float | None) -> str:
    """Return a number with separators of thousands, and without a fraction that is 0.

    >>> _number(1234567), _number(0.5), _number(3.0), _number(None)
    ('1,234,567', '0.5', '3', '-')
    """
    if value is None:
        return NOTHING
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.1f}"
