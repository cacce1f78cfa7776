"""Errors of the engine, one class for each reaction of the caller.

```
LakeError                      .retryable, .table, .committed_nothing
  InvalidRequest               fix the call; `.problems`, if there are any, name field, value and fix
    TableNotFound              fix the name
    TableExists                choose another name, or open the table
    SchemaMismatch             fix the data or the schema
    UnsupportedFeature       do without the feature: this version does not support it
  CommitConflict               re-plan on the newer snapshot, then try again
  CommitUnknown                find out whether the table has the commit before you act
  StreamFenced                 stop: a newer owner has claimed the stream
  OffsetMismatch               stop: the batch does not continue where the table ends
  StorageUnavailable           repeat the call after a pause
  CorruptData                  stop and call an operator
  LimitExceeded                stop: the message says which bound, and what to change
```

More subclasses are defined beside the code that raises them, for example `ManifestGone`, a subclass
of `InvalidRequest`. This file also has `Problem`, one entry of `.problems`, and
`table_error_context` and `adds_table_to_errors`, which set `.table`.

The classes and their attributes are part of the interface; the messages are for people and are not.

A commit that raises an error may have been published all the same, and its files may be live. So
the files of a commit are deleted only after an error whose `committed_nothing` is true. After any
other error they stay; orphan cleaning later deletes those that nothing references.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

ParamsT = ParamSpec("ParamsT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a request.

    Attributes:
        field: Place of the problem: a column, an option key, or a pointer into the request.
        value: The value found there, as text; None when it is missing.
        message: What is wrong and what was expected, lower case, without a full stop.
        hint: How to fix it; None when the message is enough.
    """

    field: str
    value: str | None
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        """Return `field: message (found value)`, and the hint on a line of its own."""
        found = "" if self.value is None else f" (found `{self.value}`)"
        hint = "" if self.hint is None else f"\nhint: {self.hint}"
        return f"{self.field}: {self.message}{found}{hint}"


class LakeError(Exception):
    """The root of everything that the engine raises on purpose.

    Attributes:
        retryable: Whether the same call may succeed later.
        table: `db.table` of the table that the error is about; None where the table is not known.
        committed_nothing: Whether the error ended a commit that is known to have left nothing in the
            table. Set by committers only.
    """

    retryable: bool = False
    committed_nothing: bool = False
    table: str | None = None

    def __str__(self) -> str:
        """Return the message, preceded by the table unless the message already names it."""
        text = super().__str__()
        if self.table is None or f"table {self.table}" in text:
            return text
        return f"table {self.table}: {text}"


class InvalidRequest(LakeError):
    """The call cannot succeed as it is; each entry of `problems` is one thing to fix."""

    def __init__(self, message: str, *, problems: Sequence[Problem] = ()) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join([message, *(str(problem) for problem in self.problems)]))


class TableNotFound(InvalidRequest):
    """There is no table of that name or at that path."""


class TableExists(InvalidRequest):
    """A table of that name exists already."""


class SchemaMismatch(InvalidRequest):
    """Data and schema do not fit each other.

    Attributes:
        key: Primary key, without partition columns, of the records that cannot be merged; the
            smallest key where several fail. Empty for every other cause.
    """

    def __init__(
        self,
        message: str,
        *,
        problems: Sequence[Problem] = (),
        key: Mapping[str, object] | None = None,
    ) -> None:
        self.key: Mapping[str, object] = {} if key is None else key
        super().__init__(message, problems=problems)


class UnsupportedFeature(InvalidRequest):
    """The table or the store uses a feature that this version does not support."""


class CommitConflict(LakeError):
    """The table has changed so that the commit cannot be rebased."""

    retryable = True


class CommitUnknown(LakeError):
    """Storage failed while a commit was published, and its outcome could not be determined."""


class StreamFenced(LakeError):
    """The stream has another epoch in the table than the caller's: it was claimed, moved or deleted since."""

    def __init__(self, message: str, *, stream: str, epoch: int, table_epoch: int) -> None:
        self.stream = stream
        self.epoch = epoch
        self.table_epoch = table_epoch
        super().__init__(message)


class OffsetMismatch(LakeError):
    """A stream's offsets do not fit the table: no position, another topic, or a batch that does not continue there."""

    def __init__(self, message: str, *, stream: str) -> None:
        self.stream = stream
        super().__init__(message)


class StorageUnavailable(LakeError):
    """Storage did not answer; the same call may succeed later."""

    retryable = True


class CorruptData(LakeError):
    """Bytes on storage are not what the format says; an operator has to intervene."""


class LimitExceeded(LakeError):
    """A bound of the table, the stream or the format is reached, and the same call fails again."""


class BelongsToTable(Protocol):
    """An object that belongs to one table."""

    @property
    def identifier(self) -> str:
        """`db.table`."""


BelongsToTableT = TypeVar("BelongsToTableT", bound=BelongsToTable)


@contextmanager
def table_error_context(identifier: str) -> Iterator[None]:
    """Set the table of every error of the engine that leaves the block.

    Code below the tables knows columns and files, but no table names.
    """
    try:
        yield
    except LakeError as error:
        # The innermost context wins: a call about one table may pass through another table's.
        error.table = error.table or identifier
        raise


def adds_table_to_errors(
    method: Callable[Concatenate[BelongsToTableT, ParamsT], ResultT],
) -> Callable[Concatenate[BelongsToTableT, ParamsT], ResultT]:
    """Return the method, run within `table_error_context` of its object's table."""

    @wraps(method)
    def named(self: BelongsToTableT, /, *args: ParamsT.args, **kwargs: ParamsT.kwargs) -> ResultT:
        with table_error_context(self.identifier):
            return method(self, *args, **kwargs)

    return named
