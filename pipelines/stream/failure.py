"""Classification of failures: permanent or retried, and the report of each. Pure.

| error | failure |
|---|---|
| `InvalidRequest` other than `TopicMissing`, `LimitExceeded`, `CorruptData` | permanent |
| `DefinitionRefused` of the registry, such as for arrival columns that a table cannot get | permanent |
| `OffsetMismatch` while the stream is claimed, or the supervisor compares its topic with the table | permanent |
| all others: Kafka, storage, Spark, unexpected ones | retried without end |

An unknown error is retried. A useless retry costs one attempt a minute, and the stream reports the error; but if a stream
stopped because of a temporary error, its data would become stale.

Spark reports an error of a task as text. The class and the message of the innermost error are read from this text, and
decide about the failure. Errors caused by too little memory, and by a full disk of temporary files, are recognised in the whole
text (`memory_failure`, `disk_failure`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.errors import PySparkException

from braid.lake import (
    CorruptData,
    InvalidRequest,
    LakeError,
    LimitExceeded,
    OffsetMismatch,
    Problem,
    SchemaMismatch,
    UnsupportedFeature,
)
from braid.pipelines.kafka.topic import TopicMissing
from braid.pipelines.stream.disk_failure import disk_failure
from braid.pipelines.stream.memory_failure import memory_failure
from braid.registry.errors import DefinitionRefused

_PERMANENT: Final = (InvalidRequest, LimitExceeded, CorruptData)
_NAMES_OF_PERMANENT: Final[Mapping[str, type[LakeError]]] = {
    f"braid.lake.errors.{kind.__name__}": kind
    for kind in (*_PERMANENT, SchemaMismatch, UnsupportedFeature)
}
# The field to report, for errors that name none themselves.
_FIELDS: Final[Mapping[type[LakeError], str]] = {
    LimitExceeded: "columns",
    CorruptData: "warehouse",
    OffsetMismatch: "topic",
}
_CAUSE_CHARACTERS_MAX: Final = 500
_TEXT_CHARACTERS_MAX: Final = 4_000
# `braid.lake.errors.StorageUnavailable: …` at the end of Python's trace, `Caused by: …` in Java's.
_RAISED: Final = re.compile(
    r"^(?:Caused by: )?([A-Za-z_][\w$]*(?:\.[\w$]+)+|[A-Z]\w*(?:Error|Exception)): ?(.*)$",
    re.MULTILINE,
)
_QUERY_FOLLOWS: Final = "=== "


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The failure that ended a query, or kept it from starting.

    Attributes:
        cause: The cause in one line.
        text: The cause with all that helps to fix it, in several lines.
        problems: What has to be fixed, field by field.
        is_permanent: Whether the failure stays until a person has fixed its cause.
        is_expected: Whether the error's class is known, so that its trace adds nothing.
    """

    cause: str
    text: str
    problems: tuple[Problem, ...] = ()
    is_permanent: bool = False
    is_expected: bool = True


def classify_failure(error: BaseException, *, is_topic_check: bool = False) -> Failure:
    """Return the failure for an error.

    Args:
        error: The error that was raised.
        is_topic_check: Whether the error comes from comparing the topic with the table, in a claim or by the
            supervisor: the next attempt would find such a mismatch again. That of a micro-batch is retried, and the
            claim that follows finds it.
    """
    if isinstance(error, DefinitionRefused):
        return _failure_of_definition(error)
    if not isinstance(error, LakeError):
        return _failure_of_spark(error)
    # While a query runs, a mismatch of offsets may come from another owner's commit: a new start finds out.
    is_mismatch = is_topic_check and isinstance(error, OffsetMismatch)
    is_missing = isinstance(error, TopicMissing)
    is_permanent = is_mismatch or (isinstance(error, _PERMANENT) and not is_missing)
    given: tuple[Problem, ...] = getattr(error, "problems", ())
    return Failure(
        cause=_one_line(str(error)),
        text=f"{type(error).__name__}: {error}"[:_TEXT_CHARACTERS_MAX],
        problems=given or (_problems(type(error), str(error)) if is_permanent else ()),
        is_permanent=is_permanent,
    )


def _failure_of_definition(error: DefinitionRefused) -> Failure:
    """Return the failure for a definition that breaks rules: each field with its fix."""
    problems = tuple(
        Problem(field=one.field, value=one.value, message=one.message, hint=one.hint)
        for one in error.problems
    )
    lines = [f"{type(error).__name__}: {error.summary}", *map(str, problems)]
    return Failure(
        cause=_one_line(str(error)),
        text="\n".join(lines)[:_TEXT_CHARACTERS_MAX],
        problems=problems or _problems(InvalidRequest, str(error)),
        is_permanent=True,
    )


def _failure_of_spark(error: BaseException) -> Failure:
    """Return the failure for an error of Spark or Python: its innermost cause, without the traces."""
    given = f"{type(error).__name__}: {error}"
    text = _innermost(str(error)) or given
    kind, _, message = text.partition(": ")
    permanent = _NAMES_OF_PERMANENT.get(kind)
    known = None if permanent else memory_failure(given) or disk_failure(given)
    if known is not None:
        return Failure(cause=_one_line(known), text=f"{known}\n{text}"[:_TEXT_CHARACTERS_MAX])
    is_own = kind.startswith("braid.lake.errors.")
    return Failure(
        cause=_one_line(message if is_own else text),
        text=text[:_TEXT_CHARACTERS_MAX],
        problems=() if permanent is None else _problems(permanent, message),
        is_permanent=permanent is not None,
        is_expected=is_own or isinstance(error, PySparkException),
    )


def _problems(kind: type[LakeError], text: str) -> tuple[Problem, ...]:
    message, _, hint = text.partition("\nhint: ")
    field = next((field for known, field in _FIELDS.items() if issubclass(kind, known)), "stream")
    return (Problem(field=field, value=None, message=_one_line(message), hint=hint or None),)


def _innermost(text: str) -> str | None:
    """Return the last error in a text of nested traces, with its hints; None when the text has no error."""
    found = list(_RAISED.finditer(text))
    if not found:
        return None
    last = found[-1]
    lines = [f"{last[1]}: {last[2]}", *_until_trace(text[last.end() :].splitlines()[1:])]
    return "\n".join(lines).strip()


def _until_trace(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a message up to the first one of a trace or of Spark's description of the query."""
    for line in lines:
        if not line.strip() or line[0].isspace() or line.startswith(_QUERY_FOLLOWS):
            return
        yield line


def _one_line(text: str) -> str:
    joined = "; ".join(line.strip() for line in text.splitlines() if line.strip())
    return joined[:_CAUSE_CHARACTERS_MAX]
