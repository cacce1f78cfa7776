"""Request for rows: the key, the columns, the state of the table, and how new it has to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from braid.lake import InvalidRequest, Problem, ReadAt, TableSchema
from braid.schemas.api import Integers, RequestedState, Visibility
from braid.service.control.read_after import ReadAfter, parse_token
from braid.service.control.read_at_parameters import (
    READ_AT_PARAMETERS,
    split_parameters,
    take_read_at,
)

COLUMNS: Final = "columns"
MIN_SNAPSHOT: Final = "min_snapshot"
MAX_STALENESS: Final = "max_staleness_ms"
READ_AFTER: Final = "read_after"
VISIBILITY: Final = "visibility"
INTEGERS: Final = "integers"
RAW: Final = "raw"
_FRESHNESS: Final = (MIN_SNAPSHOT, MAX_STALENESS, READ_AFTER)
ROW_PARAMETERS: Final = (*READ_AT_PARAMETERS, COLUMNS, *_FRESHNESS, VISIBILITY, INTEGERS)
"""Names of the parameters of a row's address besides the columns of the key."""

ChoiceT = TypeVar("ChoiceT", bound=StrEnum)

_SUMMARY: Final = "the parameters of the row are not valid"
_DIGITS_MAX: Final = 19  # digits of a snapshot id, as many as 2**63 has


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How new the state has to be that an answer is read from.

    Attributes:
        min_snapshot: Id of the oldest snapshot that may answer; None: any.
        max_staleness_ms: How long ago the snapshot may have been verified to be the newest, milliseconds; None: the
            service's own bound.
        read_after: The records that the snapshot must have taken in; None: any.
    """

    min_snapshot: int | None = None
    max_staleness_ms: int | None = None
    read_after: ReadAfter | None = None

    @property
    def is_declared(self) -> bool:
        """Whether the request sets a bound."""
        return any(getattr(self, name) is not None for name in _FRESHNESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRequest:
    """A request for one row.

    Attributes:
        key: The columns of the key and their texts.
        columns: The columns of the answer, in its order; None: all.
        at: The state.
        freshness: How new the newest state has to be.
        visibility: Whether records are merged that the table hides until a compaction; with `read_after` they are: the
            pushed records may be among them.
        integers: How values of BIGINT are written as JSON.
        raw: Whether an explanation has the records of topics.
    """

    key: Sequence[tuple[str, str]]
    columns: tuple[str, ...] | None = None
    at: ReadAt = field(default_factory=ReadAt)
    freshness: Freshness = field(default_factory=Freshness)
    visibility: Visibility = Visibility.COMPACTED
    integers: Integers = Integers.NUMBER
    raw: bool = False


def row_request(
    schema: TableSchema,
    parameters: Sequence[tuple[str, str]],
    *,
    takes_columns: bool = True,
    takes_raw: bool = False,
) -> RowRequest:
    """Return the request that the parameters of a row's address make.

    A parameter with the name of a column of the primary key is that column's value.

    Args:
        schema: The table's schema.
        parameters: Names and texts of the address's parameters.
        takes_columns: Whether the parameters may name columns of the answer.
        takes_raw: Whether they may ask for the records of topics.

    Raises:
        InvalidRequest: A parameter is not valid, or given more than once; or the parameters name a state and a bound
            that only the newest state has.
    """
    if not takes_raw and all(name not in ROW_PARAMETERS for name, _ in parameters):
        return RowRequest(key=parameters)
    at, others = take_read_at(schema, parameters)
    known = (
        *((COLUMNS,) if takes_columns else ()),
        *((RAW,) if takes_raw else ()),
        *_FRESHNESS,
        VISIBILITY,
        INTEGERS,
    )
    names = [name for name in known if name not in schema.primary_keys]
    given, key = split_parameters(others, names, summary=_SUMMARY)
    columns = given.get(COLUMNS)
    freshness = Freshness(
        min_snapshot=_number(given, MIN_SNAPSHOT),
        max_staleness_ms=_number(given, MAX_STALENESS),
        read_after=_read_after(given),
    )
    check_freshness(at, freshness)
    return RowRequest(
        key=key,
        columns=None if columns is None else tuple(columns.split(",")),
        at=at,
        freshness=freshness,
        visibility=_visibility(
            _choice(given, VISIBILITY, Visibility.COMPACTED),
            freshness,
            is_given=VISIBILITY in given,
        ),
        integers=_choice(given, INTEGERS, Integers.NUMBER),
        raw=_is_true(given, RAW),
    )


def state_of(body: RequestedState) -> tuple[ReadAt, Freshness, Visibility]:
    """Return the state that a body names, how new the newest state has to be, and whether hidden records are merged.

    Raises:
        InvalidRequest: The fields contradict each other.
    """
    at = ReadAt(snapshot_id=body.snapshot_id, tag=body.tag, timestamp=body.timestamp)
    freshness = Freshness(
        min_snapshot=body.min_snapshot,
        max_staleness_ms=body.max_staleness_ms,
        read_after=None if body.read_after is None else parse_token(body.read_after),
    )
    check_freshness(at, freshness)
    is_given = VISIBILITY in body.model_fields_set
    return at, freshness, _visibility(body.visibility, freshness, is_given=is_given)


def check_freshness(at: ReadAt, freshness: Freshness) -> None:
    """Check that a bound is declared of the newest state only.

    Raises:
        InvalidRequest: An older state is requested as well.
    """
    if freshness.is_declared and not at.is_newest:
        name = next(name for name in _FRESHNESS if getattr(freshness, name) is not None)
        message = "an older state is as old as it is: leave this out, or the state"
        raise _refused(name, None, message)


def _visibility(asked: Visibility, freshness: Freshness, *, is_given: bool) -> Visibility:
    """Return which records are read: all that are committed, if the request names pushed records."""
    if freshness.read_after is None:
        return asked
    if is_given and asked is Visibility.COMPACTED:
        message = f"`{READ_AFTER}` reads the pushed records, which the table may hide until a compaction: leave this out"
        raise _refused(VISIBILITY, asked.value, message)
    return Visibility.MERGED


def _read_after(given: Mapping[str, str]) -> ReadAfter | None:
    token = given.get(READ_AFTER)
    return None if token is None else parse_token(token)


def _is_true(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false")
    if text not in ("true", "false"):
        raise _refused(name, text, "expected `true` or `false`")
    return text == "true"


def _choice(given: Mapping[str, str], name: str, default: ChoiceT) -> ChoiceT:
    text = given.get(name, default.value)
    choices = {choice.value: choice for choice in type(default)}
    if text not in choices:
        raise _refused(name, text, f"expected one of: {', '.join(choices)}")
    return choices[text]


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX):
        raise _refused(name, text, "expected a whole number from 0")
    return int(text)


def _refused(name: str, text: str | None, message: str) -> InvalidRequest:
    problem = Problem(field=name, value=text, message=message)
    return InvalidRequest(_SUMMARY, problems=[problem])
