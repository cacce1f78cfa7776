"""Errors of the registry, distinguished by what the caller does about them.

```
RegistryError
  DefinitionRefused    fix the definition or request; `.problems`, if any, names each field, value and fix
  KeyReused            send the first request again, or use another idempotency key
  DefinitionDiffers    the name is taken by another definition; `.problems` names what differs
  StreamNotFound       fix the name
  OperationNotFound    fix the id
  TooManyOperations    wait for operations to end
  StreamNotStopped     stop it first
  StreamNotRunning     start or resume it
  FeaturesMissing      use a newer version of this software; `.missing` names the missing features
  PreconditionFailed   read again, then decide again
  NoRunnerAnswers      start a runner
  RegistryConflict     another writer wrote the document first: call again; or another replay is under way: wait for it
```
"""

from collections.abc import Sequence

from braid.schemas import FieldProblem


class RegistryError(Exception):
    """Root of the errors that the registry raises on purpose."""

    retryable: bool = False


class _WithProblems(RegistryError):
    def __init__(self, message: str, *, problems: Sequence[FieldProblem] = ()) -> None:
        self.problems: tuple[FieldProblem, ...] = tuple(problems)
        lines = [f"{problem.field}: {problem.message}" for problem in self.problems]
        super().__init__("\n".join([message, *lines]))
        self.summary = message


class DefinitionRefused(_WithProblems):
    """The definition of a table or stream, or another request about one, breaks rules."""


class KeyReused(_WithProblems):
    """The idempotency key of a request was used by another request before."""


class DefinitionDiffers(_WithProblems):
    """A table or stream of that name exists, and cannot be changed to this definition."""

    def __init__(self, message: str, *, kind: str, problems: Sequence[FieldProblem] = ()) -> None:
        super().__init__(message, problems=problems)
        self.kind = kind


class StreamNotFound(RegistryError):
    """The table has no stream of that name."""


class OperationNotFound(RegistryError):
    """There is no operation of that id, or not any more."""


class TooManyOperations(RegistryError):
    """Too many operations have not ended."""

    retryable = True


class StreamNotStopped(RegistryError):
    """The stream may still write, and the request requires it stopped."""


class StreamNotRunning(RegistryError):
    """The stream's desired state is not RUNNING, which the request requires."""


class FeaturesMissing(RegistryError):
    """A newer version has written something that this version must neither run nor change."""

    def __init__(self, message: str, *, missing: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing


class PreconditionFailed(RegistryError):
    """The current state is not the one that the caller has read.

    Attributes:
        current: The current revision; None: there is nothing.
    """

    def __init__(self, message: str, *, current: str | None = None) -> None:
        super().__init__(message)
        self.current = current


class NoRunnerAnswers(RegistryError):
    """A runner has to answer, and none has done so in time."""

    retryable = True


class RegistryConflict(RegistryError):
    """Another writer has created this version of the document first, or another replay of the stream is under way."""

    retryable = True
