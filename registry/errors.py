"""Errors of the registry, chosen by what the caller will do about them.

```
RegistryError
  DefinitionRefused    fix the definition; `.problems` names each field, value and fix
  DefinitionDiffers    the name is taken by another definition; `.problems` names what differs
  StreamNotFound       fix the name
  StreamNotStopped     stop it first
  StreamNotRunning     start or resume it
  FeaturesMissing      use a newer version of this software; `.missing` names what it needs
  PreconditionFailed   read again, then decide again
  RegistryConflict     others changed the document at the same time; the same call again
```
"""

from collections.abc import Sequence

from schemas import FieldProblem


class RegistryError(Exception):
    """The root of everything that the registry raises on purpose."""

    retryable: bool = False


class _WithProblems(RegistryError):
    def __init__(self, message: str, *, problems: Sequence[FieldProblem] = ()) -> None:
        self.problems: tuple[FieldProblem, ...] = tuple(problems)
        lines = [f"{problem.field}: {problem.message}" for problem in self.problems]
        super().__init__("\n".join([message, *lines]))
        self.summary = message


class DefinitionRefused(_WithProblems):
    """A table or stream cannot be what its definition says."""


class DefinitionDiffers(_WithProblems):
    """There is one of that name, defined otherwise, and it cannot be changed to this."""

    def __init__(self, message: str, *, kind: str, problems: Sequence[FieldProblem] = ()) -> None:
        super().__init__(message, problems=problems)
        self.kind = kind


class StreamNotFound(RegistryError):
    """The table has no stream of that name."""


class StreamNotStopped(RegistryError):
    """The stream may still write; what was asked for needs it stopped."""


class StreamNotRunning(RegistryError):
    """The stream is not wanted to run, which what was asked for needs."""


class FeaturesMissing(RegistryError):
    """A newer version has written what this one must neither run nor change."""

    def __init__(self, message: str, *, missing: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing


class PreconditionFailed(RegistryError):
    """What the caller has seen is not what is there."""


class RegistryConflict(RegistryError):
    """Somebody else created this version of the document first."""

    retryable = True
