"""Trial writes: the rows of a micro-batch that the table's writer refuses, found without writing them.

The checks of parsing never cover every cause of a refusal: the writer's checks, the bucket function,
partition paths, merge functions, encoders and statistics have other limits. One such row must not stop its
stream. So if a write is refused, the micro-batch is written again, and each task first tries its rows in
memory:

1. All rows together. That is enough if no row is refused.
2. Otherwise in halves, down to single rows that are refused alone.
3. Some rows are refused only together with others, such as two whose sum overflows: the remaining rows are
   tried again in halves, each together with all rows accepted before it. So the later row is refused.

`find_refused_rows` does the same for other actions that refuse rows (`poison_records`, `bucket_routing`), and
`is_refusal` tells which errors are about rows.

The cost is about 2 log2(number of rows) trials for each refused row, and one trial of all rows in each of the
next few micro-batches (`TrialSchedule`). A stream without refused rows pays nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from braid.lake import LakeError, SchemaMismatch

_CHARACTERS_MAX: Final = 500
_NO_THREAD: Final = "can't start new thread"  # Python has no class for it

_SCHEDULED_BATCHES: Final = 10
"""Micro-batches that are tried after one with a refused row: where there is one there are more, and finding
out by a write costs an attempt."""

Try = Callable[[pa.Table], object]
"""Raises what refuses rows; what it returns is not used."""


class TrialSchedule:
    """Decides which micro-batches have their rows tried before they are written."""

    def __init__(self) -> None:
        self._batches = 0

    @property
    def is_due(self) -> bool:
        """Whether the next attempt has to try its rows."""
        return self._batches > 0

    def begin(self) -> None:
        """Try the rows from now on: a write was refused."""
        self._batches = _SCHEDULED_BATCHES

    def note(self, *, has_refused_row: bool) -> None:
        """Count a micro-batch that was committed, and whether the table refused a row of it."""
        self._batches = _SCHEDULED_BATCHES if has_refused_row else max(0, self._batches - 1)


def is_refusal(error: Exception) -> bool:
    """Return whether an error of a write is about the rows, as far as its class shows.

    Of our own error classes only one is about rows. Errors of foreign classes come from a library or a defect
    that met an unexpected value, and count as errors about rows; errors of storage and of a process that gets no
    memory, thread or module do not.
    """
    if isinstance(error, LakeError):
        return isinstance(error, SchemaMismatch)
    is_of_process = isinstance(error, OSError | MemoryError | ImportError)
    return not is_of_process and _NO_THREAD not in str(error)


def find_refused_rows(
    rows: pa.Table, attempt: Try, *, refused_max: int | None = None
) -> Mapping[int, str]:
    """Return the positions of the rows that are refused, and why.

    Args:
        rows: In the order of arrival.
        attempt: Tries rows; raises an error where they are refused, and has no other effect.
        refused_max: With more refused rows than this, the error of `attempt` is raised; None: it never is.

    Raises:
        Exception: An error of `attempt` that is not about the rows, or that too many rows cause.
    """
    trial = _Trial(attempt=attempt, refused_max=refused_max)
    if trial.refusal(rows) is None:
        return {}
    trial.split(rows, first=0)
    kept = _without(rows, trial.refused)
    if trial.refusal(kept) is None:
        return trial.refused
    positions = [row for row in range(rows.num_rows) if row not in trial.refused]
    beside = _Trial(attempt=attempt, refused_max=refused_max)
    beside.split_beside(kept.slice(0, 0), kept, first=0)
    # `beside` counts rows among the kept ones.
    return trial.refused | {positions[row]: why for row, why in beside.refused.items()}


@dataclass(slots=True, kw_only=True)
class _Trial:
    attempt: Try
    refused_max: int | None = None
    refused: dict[int, str] = field(default_factory=dict)

    def refusal(self, rows: pa.Table) -> str | None:
        """Return why rows are refused; None when they are accepted."""
        if not rows.num_rows:
            return None
        try:
            self.attempt(rows)
        except Exception as error:
            is_many = self.refused_max is not None and len(self.refused) >= self.refused_max
            if is_many or not is_refusal(error):
                raise
            return _reason(error)
        return None

    def split(self, rows: pa.Table, *, first: int) -> None:
        """Note which of the rows are refused by themselves.

        Requires:
            The rows are refused together.
        """
        assert rows.num_rows, "an empty table is never refused"
        for start, part in _halves(rows):
            reason = self.refusal(part)
            if reason is None:
                continue
            if part.num_rows == 1:
                self.refused[first + start] = reason
            else:
                self.split(part, first=first + start)

    def split_beside(self, taken: pa.Table, rows: pa.Table, *, first: int) -> pa.Table:
        """Note which of the rows are refused together with `taken`; return `taken` and the accepted rows."""
        reason = self.refusal(pa.concat_tables([taken, rows]))
        if reason is None:
            return pa.concat_tables([taken, rows])
        if rows.num_rows == 1:
            self.refused[first] = reason
            return taken
        for start, part in _halves(rows):
            taken = self.split_beside(taken, part, first=first + start)
        return taken


def _halves(rows: pa.Table) -> list[tuple[int, pa.Table]]:
    # One row is its own half: it is tried once more by itself, which ends the recursion.
    if rows.num_rows == 1:
        return [(0, rows)]
    middle = rows.num_rows // 2
    return [(0, rows.slice(0, middle)), (middle, rows.slice(middle))]


def _without(rows: pa.Table, refused: Mapping[int, str]) -> pa.Table:
    kept = [row not in refused for row in range(rows.num_rows)]
    return rows.filter(pa.array(kept, pa.bool_()))


def _reason(error: Exception) -> str:
    """Return the message of an error about one row, as one line."""
    text = str(error) if isinstance(error, LakeError) else f"{type(error).__name__}: {error}"
    line = "; ".join(part.strip() for part in text.splitlines() if part.strip())
    return line[:_CHARACTERS_MAX]
