"""Differences between what a test expects and what was found. Pure.

Values are compared as JSON values: numbers by their value, texts and everything else by being equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

import orjson

from braid.schemas import CaseDifference, ExpectedDeadLetter, ExpectedRow, RowStatus
from braid.schemas.field_problems import display_text, field_path
from braid.schemas.problem import JsonPath

DIFFERENCES_MAX: Final = 20
"""Most differences of one test that are shown."""
_VALUE_MAX: Final = 1_000  # characters of a value as JSON that is shown whole
_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A row of the table after all records of a test.

    Attributes:
        values: JSON values by column; None: there is no such row.
        status: The status of the row.
        reasons: By column that the test expects reasons of, the reason of each version, oldest first.
    """

    values: Mapping[str, Any] | None
    status: RowStatus
    reasons: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDeadLetter:
    """A record that was refused.

    Attributes:
        stream: The stream that refused it.
        reason: The reason.
        message: The reason in words.
    """

    stream: str
    reason: str
    message: str


def row_differences(expected: ExpectedRow, found: FoundRow, index: int) -> Iterator[CaseDifference]:
    """Yield the differences of a row.

    Args:
        expected: What the test expects.
        found: What was found.
        index: The place among the expected rows.
    """
    path: JsonPath = ("expect", "rows", index)
    key = found.status.key
    what = f"the row {_text(key)}"
    if expected.exists != found.status.exists:
        states = {True: "exists", False: "does not exist"}
        yield CaseDifference(
            **_place(*path, "exists"),
            key=key,
            expected=expected.exists,
            found=found.status.exists,
            message=f"{what} {states[found.status.exists]}",
        )
        return
    values = found.values or {}
    for column, value in expected.row.items() if expected.exists else ():
        if not same_json(value, values.get(column)):
            yield CaseDifference(
                **_place(*path, "row", column),
                key=key,
                column=column,
                expected=_shown(value),
                found=_shown(values.get(column)),
                message=f"{what}, column `{column}`: expected {_text(value)}, "
                f"found {_text(values.get(column))}",
            )
    for name, state in expected.groups.items():
        group = found.status.groups.get(name)
        state_found = None if group is None else group.state.value
        if state_found != state.value:
            yield CaseDifference(
                **_place(*path, "groups", name),
                key=key,
                expected=state.value,
                found=state_found,
                message=f"{what}, group `{name}`: expected {state.value}, found {state_found}",
            )
    for column, expected_reasons in expected.reasons.items():
        reasons, reasons_found = list(expected_reasons), list(found.reasons.get(column, ()))
        if reasons != reasons_found:
            yield CaseDifference(
                **_place(*path, "reasons", column),
                key=key,
                column=column,
                expected=_shown(reasons),
                found=_shown(reasons_found),
                message=f"{what}, column `{column}`: expected the reasons {_text(reasons)}, "
                f"found {_text(reasons_found)}",
            )
    if expected.complete not in (None, found.status.complete):
        yield CaseDifference(
            **_place(*path, "complete"),
            key=key,
            expected=expected.complete,
            found=found.status.complete,
            message=f"{what} is {'complete' if found.status.complete else 'not complete'}",
        )


def letter_differences(
    expected: Sequence[ExpectedDeadLetter], found: Sequence[FoundDeadLetter]
) -> Iterator[CaseDifference]:
    """Yield the differences of the dead letters, which are compared in the order of their records."""
    for index, (wanted, letter) in enumerate(zip_longest(expected, found)):
        of_wanted = None if wanted is None else f"{wanted.stream}: {wanted.reason}"
        of_letter = None if letter is None else f"{letter.stream}: {letter.reason}"
        if of_wanted == of_letter:
            continue
        reason = "" if letter is None else f" ({letter.message})"
        yield CaseDifference(
            **_place("expect", "dead_letters", index),
            expected=of_wanted,
            found=of_letter,
            message=f"dead letter {index}: expected {of_wanted or _NOTHING}, "
            f"found {of_letter or _NOTHING}{reason}",
        )


def count_difference(expected: int | None, found: int) -> Iterator[CaseDifference]:
    """Yield the difference of the number of rows, if there is one."""
    if expected not in (None, found):
        yield CaseDifference(
            **_place("expect", "row_count"),
            expected=expected,
            found=found,
            message=f"the table has {found} rows, expected {expected}",
        )


def refused_key(index: int, message: str) -> CaseDifference:
    """Return the difference of a key that is none of the table's."""
    return CaseDifference(**_place("expect", "rows", index, "key"), message=message)


def same_json(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; a boolean equals no number.

    >>> same_json({"a": [1, None]}, {"a": [1.0, None]}), same_json(True, 1), same_json("1", 1)
    (True, False, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def _place(*path: str | int) -> dict[str, Any]:
    return {"field": field_path(path), "path": path}


def _text(value: Any) -> str:
    return display_text(orjson.dumps(value).decode())


def _shown(value: Any) -> Any:
    """Return a value as it is, or, if it is long, the beginning of its text: many differences may have one value."""
    text = orjson.dumps(value).decode()
    return value if len(text) <= _VALUE_MAX else display_text(text)
