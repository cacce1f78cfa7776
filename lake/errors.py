"""Errors of the engine, chosen by what the caller will do about them.

```
LakeError                      .retryable, and the values as attributes
  InvalidRequest               fix the call; `.problems` names each field, value and fix
    TableNotFound              fix the name
    TableExists                choose another name, or open the table
    SchemaMismatch             fix the data or the schema
    UnsupportedFeature         by design, or not in this version
  CommitConflict               re-plan on the newer snapshot, then try again
  CommitUnknown                look for the commit before acting
  StreamFenced                 stop: a newer owner has claimed the stream
  OffsetMismatch               stop: the batch does not continue where the table ends
  StorageUnavailable           the same call again, after a pause
  CorruptData                  stop and call a person
  LimitExceeded                send less
```

Text is for people and is no interface; classes and attributes are.

Files of a commit that failed may be live all the same, whatever was raised. They are deleted only after
an error with `committed_nothing`; else they stay, and orphan cleaning finds those that nothing names.
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
        field: Where: a column, an option key, or a pointer into the request.
        value: What was found there, as text; None when it is missing.
        message: What is wrong and what was expected, lower case, without a full stop.
        hint: How to mend it; None when the message says it all.
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
        table: `db.table` that it is about, where that is known; None elsewhere.
        committed_nothing: It ended a commit that is known to have left nothing in the table. Only
            committers say so.
    """

    retryable: bool = False
    committed_nothing: bool = False
    table: str | None = None

    def __str__(self) -> str:
        """Return what is wrong, the table first unless the text has it already."""
        text = super().__str__()
        if self.table is None or f"table {self.table}" in text:
            return text
        return f"table {self.table}: {text}"


class InvalidRequest(LakeError):
    """The call cannot work as it is; each entry of `problems` says what to mend."""

    def __init__(self, message: str, *, problems: Sequence[Problem] = ()) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join([message, *(str(problem) for problem in self.problems)]))


class TableNotFound(InvalidRequest):
    """No table of that name or at that place."""


class TableExists(InvalidRequest):
    """A table of that name is there already."""


class SchemaMismatch(InvalidRequest):
    """Data and schema do not fit each other.

    Attributes:
        key: Of records that cannot be merged: the primary key without partition columns, the
            smallest where several fail; empty elsewhere.
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
    """The table or the store uses something that this version does not handle."""


class CommitConflict(LakeError):
    """The table changed in a way that the commit cannot be rebased on."""

    retryable = True


class CommitUnknown(LakeError):
    """Storage failed while a commit was published and its outcome could not be learnt."""


class StreamFenced(LakeError):
    """The table knows a newer epoch of the stream than the caller's."""

    def __init__(self, message: str, *, stream: str, epoch: int, table_epoch: int) -> None:
        self.stream = stream
        self.epoch = epoch
        self.table_epoch = table_epoch
        super().__init__(message)


class OffsetMismatch(LakeError):
    """A batch neither continues at the table's offsets nor lies wholly before them."""

    def __init__(self, message: str, *, stream: str) -> None:
        self.stream = stream
        super().__init__(message)


class StorageUnavailable(LakeError):
    """Storage did not answer; the same call may succeed later."""

    retryable = True


class CorruptData(LakeError):
    """Bytes on storage are not what the format says; a person has to look."""


class LimitExceeded(LakeError):
    """More was asked for than a declared bound allows."""


class BelongsToTable(Protocol):
    """Something that belongs to one table."""

    @property
    def identifier(self) -> str:
        """`db.table`."""


BelongsToTableT = TypeVar("BelongsToTableT", bound=BelongsToTable)


@contextmanager
def table_error_context(identifier: str) -> Iterator[None]:
    """Have every error of the engine that leaves the block say which table it is about.

    What is deep inside knows columns and files, and no names of tables.
    """
    try:
        yield
    except LakeError as error:
        error.table = error.table or identifier
        raise


def adds_table_to_errors(
    method: Callable[Concatenate[BelongsToTableT, ParamsT], ResultT],
) -> Callable[Concatenate[BelongsToTableT, ParamsT], ResultT]:
    """Return the method of something that belongs to a table with `table_error_context` around it."""

    @wraps(method)
    def named(self: BelongsToTableT, /, *args: ParamsT.args, **kwargs: ParamsT.kwargs) -> ResultT:
        with table_error_context(self.identifier):
            return method(self, *args, **kwargs)

    return named
