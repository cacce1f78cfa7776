"""Lifecycle verbs for many streams: the streams that a request selects, and one change of the document of each table.

The verb has its effect on all selected streams of a table at once. Tables are changed one after the other: if one of them
cannot be changed, the outcomes of its streams say so, and the others are changed nevertheless.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from braid.lake import InvalidRequest, LakeError, LimitExceeded, Problem, TableNotFound
from braid.registry.errors import RegistryError
from braid.registry.registrar import Registrar
from braid.registry.stream_entries import Verb
from braid.schemas import OperationProblem, StreamEntry, StreamState
from braid.schemas.access import EVERY_TABLE
from braid.schemas.batch_verb import (
    STREAMS_MAX,
    TABLES_MAX,
    TABLES_READ_MAX,
    BatchVerbAnswer,
    BatchVerbRequest,
    StreamOutcome,
)
from braid.service.control.lists.list_query import has_labels

Selection = Mapping[str, list[str]]
"""Streams by table, `database.table`."""

Reported = Callable[[str, str], StreamState | None]
"""Returns the state that a living runner reports for a stream of a table; None: no runner has it."""

ChangeStreams = Callable[
    [str, Verb, Mapping[str, StreamState | None]], Mapping[str, str | RegistryError]
]
"""`Registrar.apply_verbs` or `Registrar.plan_verbs`."""

_HINT: Final = 'such as {"streams": ["shop.orders.sales"]}, {"tables": ["shop.*"]} or {"labels": ["team=payments"]}'


def select_streams(
    request: BatchVerbRequest,
    registrar: Registrar,
    tables: list[str],
    *,
    may_change: Callable[[str], bool],
) -> Selection:
    """Return the streams that a request selects; those that it names, whether they exist or not.

    Args:
        request: The request.
        registrar: Reads the documents of tables that match a pattern, or whose labels matter.
        tables: All registered tables.
        may_change: Whether the client may change the streams of a table; others match no pattern.

    Raises:
        InvalidRequest: The request selects nothing by its fields.
        LimitExceeded: It selects too many streams or tables.
    """
    patterns = request.tables
    if not request.streams and not patterns:
        if not request.labels:
            problem = Problem(
                field="streams",
                value=None,
                message="expected streams, patterns of tables, or labels",
                hint=_HINT,
            )
            message = "the request selects no stream"
            raise InvalidRequest(message, problems=[problem])
        patterns = (EVERY_TABLE,)
    named: dict[str, dict[str, None]] = {}
    for name in request.streams:
        table, _, stream = name.rpartition(".")
        named.setdefault(table, {})[stream] = None
    matching = {one for one in tables if _is_meant(one, patterns) and may_change(one)}
    _check_bound(
        len({*matching, *named}), TABLES_READ_MAX if request.labels else TABLES_MAX, "tables"
    )
    found: dict[str, list[str]] = {}
    for table in sorted({*matching, *named}):
        is_read = table in matching or (request.labels and may_change(table))
        known = _streams(registrar, table) if is_read else {}
        chosen = {
            **named.get(table, {}),
            **dict.fromkeys(sorted(known) if table in matching else ()),
        }
        labelled = [
            stream
            for stream in chosen
            if stream not in known or has_labels(known[stream].spec.labels, request.labels)
        ]
        if labelled:
            found[table] = labelled
    _check_bound(len(found), TABLES_MAX, "tables")
    _check_bound(sum(map(len, found.values())), STREAMS_MAX, "streams")
    return found


def _streams(registrar: Registrar, table: str) -> Mapping[str, StreamEntry]:
    try:
        return registrar.document(table).streams
    except TableNotFound:  # dropped a moment ago
        return {}


def apply_to_all(
    verb: Verb,
    selection: Selection,
    change: ChangeStreams,
    *,
    reported: Reported,
    may_change: Callable[[str], bool],
    describe: Callable[[Exception], OperationProblem],
) -> BatchVerbAnswer:
    """Apply a verb to selected streams, or plan to, and return the outcome for each.

    Args:
        verb: The verb.
        selection: The streams.
        change: Changes the streams of a table, or plans to.
        reported: Returns the state that a living runner reports.
        may_change: Whether the client may change the streams of a table; to it there are no others.
        describe: Returns the problem of an error.
    """
    outcomes: list[StreamOutcome] = []
    for table, streams in selection.items():
        try:
            if not may_change(table):
                message = f"no table {table} is registered"
                raise TableNotFound(message)
            states = {stream: reported(table, stream) for stream in streams}
            effects: Mapping[str, str | RegistryError | LakeError] = change(table, verb, states)
        except (LakeError, RegistryError) as error:
            effects = dict.fromkeys(streams, error)
        outcomes += [_outcome(table, stream, effects[stream], describe) for stream in streams]
    failed = sum(not outcome.done for outcome in outcomes)
    return BatchVerbAnswer(verb=verb.value, streams=tuple(outcomes), failed=failed)


def _outcome(
    identifier: str,
    stream: str,
    effect: str | Exception,
    describe: Callable[[Exception], OperationProblem],
) -> StreamOutcome:
    database, _, table = identifier.partition(".")
    return StreamOutcome(
        database=database,
        table=table,
        stream=stream,
        done=isinstance(effect, str),
        message=effect if isinstance(effect, str) else "",
        problem=None if isinstance(effect, str) else describe(effect),
    )


def _check_bound(count: int, bound: int, what: str) -> None:
    if count > bound:
        message = f"the request selects {count} {what}; the limit is {bound}"
        raise LimitExceeded(message)


def _is_meant(identifier: str, patterns: Sequence[str]) -> bool:
    """Return whether a table matches one of the patterns, in whose names `*` stands for any characters."""
    database, _, table = identifier.partition(".")
    # Not a regular expression of `.*`: with many of them in a pattern its search would not end.
    return any(
        pattern == EVERY_TABLE
        or (
            fnmatchcase(database, pattern.partition(".")[0])
            and fnmatchcase(table, pattern.partition(".")[2])
        )
        for pattern in patterns
    )
