"""The explanation of a row as text: for each column the version that gives its value, then those that do not, with the reasons.

A version that lost is struck through on a terminal; the column `why` says the same in words.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from rich.text import Text

from braid.cli.output import NOTHING, TextTable, cell
from braid.schemas import ColumnOrigin, HypotheticalRow, RecordPlace, RowExplanation, RowVersion

_WINS: Final[Mapping[str | None, str]] = {
    "only-version": "wins: no other version has a part in the column",
    "newer-sequence": "wins: no version of the column is newer",
    "retracted": "wins: it is a delete",
    "first-row": "wins: it came first, and the table keeps first rows",
    "unknown: compacted": "a compaction has merged it from versions that do not exist any more",
}
_LOSES: Final[Mapping[str, str]] = {
    "newer-sequence": "lost: a newer version has replaced it",
    "late": "lost: it is older, by its ordering values, than a version that came before it",
    "null-skipped": "changes nothing: it has no value for the column",
    "kept": "changes nothing: it leaves the older value of the kept column",
    "aggregated": "its value went into the column's value",
    "retracted": "a delete took its value away, or it is a delete that took values back",
    "first-row": "lost: it came later, and the table keeps first rows",
    "ignored": "changes nothing: the delete is ignored",
    "unknown: compacted": "a compaction has merged it from versions that do not exist any more",
}
_LOST: Final = frozenset({"newer-sequence", "late", "first-row", "retracted"})
_GENERATED: Final = ("at", "op", "offset", "partition")
_ORDER: Final = "__order"
_COLUMNS: Final = ("column", "value", "stream", "record", "order", "why")


def explanation_text(
    explained: RowExplanation | HypotheticalRow, *, with_generated: bool
) -> TextTable:
    """Return a line for each column and version that has a part in it, the winner first.

    Args:
        explained: The explanation.
        with_generated: Whether the generated columns of sequence groups are included.
    """
    versions = {version.version: version for version in explained.versions}
    rows = [
        line
        for name, origin in explained.columns.items()
        if with_generated or not _is_generated(name, origin, explained.columns)
        for line in _lines(name, origin, versions)
    ]
    return TextTable(columns=_COLUMNS, rows=rows)


def changes_text(found: HypotheticalRow, *, with_generated: bool) -> TextTable:
    """Return a line for each column that would have another value, and for each whose value is not known."""
    rows = [
        (name, cell(change.before), cell(change.after))
        for name, change in found.changed.items()
        if with_generated or not _is_generated(name, found.columns.get(name), found.columns)
    ]
    rows += [(name, "", "unknown: a compaction has merged the records") for name in found.unknown]
    return TextTable(columns=("column", "now", "then"), rows=rows)


def _is_generated(
    name: str, origin: ColumnOrigin | None, columns: Mapping[str, ColumnOrigin]
) -> bool:
    group = None if origin is None else origin.group
    if group is not None and name in {f"{group}__{part}" for part in _GENERATED}:
        return True
    return name.endswith(_ORDER) and name.removesuffix(_ORDER) in columns


def _lines(
    name: str, origin: ColumnOrigin, versions: Mapping[int, RowVersion]
) -> Iterator[tuple[str | Text, ...]]:
    """Yield the lines of a column; only the first has its name."""
    winner = origin.winner
    if winner is None:
        combined = "combined from the versions below" if origin.others else "no version has a value"
        yield name, cell(origin.value), NOTHING, NOTHING, NOTHING, combined
    else:
        why = _WINS.get(origin.reason, origin.reason or "")
        stream, record, order = _place(winner, versions.get(winner.version))
        yield Text(name, "bold"), Text(cell(origin.value), "green"), stream, record, order, why
    for other in origin.others:
        version = versions.get(other.version)
        groups = {} if version is None else version.groups
        place = None if origin.group is None else groups.get(origin.group)
        if other.reason == "null-skipped" and groups and place is None:
            continue  # a version of another stream's columns alone: most versions of a wide row are
        value = cell(None if version is None else version.values.get(name))
        shown = Text(value, "strike dim" if other.reason in _LOST else "dim")
        why = _LOSES.get(other.reason, other.reason)
        yield "", shown, *_place(place, version), Text(why, "dim")


def _place(place: RecordPlace | None, version: RowVersion | None) -> tuple[str, str, str]:
    """Return the stream of a version, its record as `topic partition:offset`, and its ordering values."""
    if place is None:
        stream = None if version is None else version.stream
        return stream or NOTHING, NOTHING, NOTHING
    arrival = place.arrival
    record = NOTHING
    if arrival is not None:
        record = f"{place.topic or '?'} {arrival.partition}:{arrival.offset}"
    order = ", ".join(f"{column}={cell(value)}" for column, value in place.ordering.items())
    return place.stream or NOTHING, record, order or NOTHING
