"""Query parameters that name a state of the table: a snapshot, a tag or a point in time.

`take_read_at` separates them from the parameters with a row's key. `bound_of_changes` reads a bound of a range of changes.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from braid.lake import InvalidRequest, Problem, ReadAt, TableSchema

READ_AT_PARAMETERS: Final = ("snapshot_id", "tag", "timestamp")
"""Names of the parameters that name a state; without any, the newest is read."""

_SUMMARY: Final = "the requested state is not valid"
_DIGITS_MAX: Final = 19  # digits of a snapshot id, as many as 2**63 has


def take_read_at(
    schema: TableSchema, parameters: Sequence[tuple[str, str]]
) -> tuple[ReadAt, list[tuple[str, str]]]:
    """Return the state that parameters name, and the other parameters.

    A parameter with the name of a column of the primary key is that column's value.

    Args:
        schema: The table's schema.
        parameters: Names and texts of the address's parameters.

    Raises:
        InvalidRequest: The parameters name no valid state, or more than one.
    """
    names = [name for name in READ_AT_PARAMETERS if name not in schema.primary_keys]
    given, others = split_parameters(parameters, names)
    return _state(given), others


def split_parameters(
    parameters: Sequence[tuple[str, str]], names: Sequence[str], *, summary: str = _SUMMARY
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the texts of the parameters of some names, and the other parameters; `summary` is the error's first line.

    Raises:
        InvalidRequest: A parameter of one of the names is given with several texts.
    """
    given: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    for name, text in parameters:
        if name not in names:
            others.append((name, text))
        elif given.setdefault(name, text) != text:
            problem = Problem(field=name, value=text, message="given more than once")
            raise InvalidRequest(summary, problems=[problem])
    return given, others


def _state(given: Mapping[str, str]) -> ReadAt:
    text = given.get("snapshot_id")
    if text is not None and not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX):
        expected = "expected the id of a snapshot, a whole number from 1"
        raise _refused(name="snapshot_id", text=text, message=expected)
    return ReadAt(
        snapshot_id=None if text is None else int(text),
        tag=given.get("tag"),
        timestamp=given.get("timestamp"),
    )


def bound_of_changes(
    prefix: str, *, snapshot_id: int | None, tag: str | None, timestamp: str | None
) -> int | ReadAt | None:
    """Return a bound of a range of changes; None where none is given.

    Args:
        prefix: Prefix of the parameters' names: `after_` or `until_`.
        snapshot_id: Id of a snapshot; 0 is before the first.
        tag: A tag, which stands for its snapshot.
        timestamp: A point in time, which stands for the newest snapshot committed by then.

    Raises:
        InvalidRequest: More than one of the three is given, or the text is not a point in time; the problems
            have the parameters' names.
    """
    if snapshot_id is not None and tag is None and timestamp is None:
        return snapshot_id
    try:
        # 0 is a valid bound but not a valid snapshot id: 1 replaces it to check the combination.
        at = ReadAt(
            snapshot_id=None if snapshot_id is None else max(1, snapshot_id),
            tag=tag,
            timestamp=timestamp,
        )
    except InvalidRequest as refused:
        problems = [
            Problem(
                field=f"{prefix}{problem.field}",
                value=problem.value,
                message=problem.message,
                hint=problem.hint,
            )
            for problem in refused.problems
        ]
        message = "a bound of the changes is not valid"
        raise InvalidRequest(message, problems=problems) from refused
    return None if at.is_newest else at


def _refused(*, name: str, text: str, message: str) -> InvalidRequest:
    problem = Problem(field=name, value=text, message=message)
    return InvalidRequest(_SUMMARY, problems=[problem])
