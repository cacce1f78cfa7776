"""Rows that the table of the chaos test has to have, from the records in its topics. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.chaos.records import Fate, Placed
from tests.support.chaos.streams import COLUMNS, ORDERS, PAYMENTS, SHIPPING


def expected_rows(topics: Mapping[str, Iterable[Placed]]) -> list[dict[str, Any]]:
    """Return the rows, by key, once all large records are rows.

    Args:
        topics: The records of each stream's topic.
    """
    rows: dict[int, dict[str, Any]] = {}
    # All records of a key are in one partition, so their offsets are the order in which they came.
    newest_first = {stream: _newest_first(stream, placed) for stream, placed in topics.items()}
    for stream, contents in newest_first.items():
        for content in reversed(contents):
            row = rows.setdefault(content["id"], dict.fromkeys(COLUMNS) | {"id": content["id"]})
            if stream == ORDERS:
                row["order_version"] = content["order_version"]
                row["order_text"] = content.get("order_text")
            elif stream == SHIPPING:
                row["carrier"] = content["carrier"]
            elif stream == PAYMENTS:
                row["paid"] = (row["paid"] or 0) + content["paid"]
    return [rows[key] for key in sorted(rows)]


def row_differences(
    found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return what is wrong with the rows of a table, one line for each key."""
    seen: dict[Any, Mapping[str, Any]] = {}
    wrong = []
    for row in found:
        if row["id"] in seen:
            wrong.append(f"key {row['id']}: found twice")
        seen[row["id"]] = row
    wanted = {row["id"]: row for row in expected}
    return wrong + [
        f"key {key}: found {seen.get(key)}, expected {wanted.get(key)}"
        for key in sorted(seen.keys() | wanted.keys())
        if seen.get(key) != wanted.get(key)
    ]


def _newest_first(stream: str, placed: Iterable[Placed]) -> list[Mapping[str, Any]]:
    rows = [one for one in placed if one.record.fate is not Fate.LETTER]
    version = "order_version" if stream == ORDERS else None
    rows.sort(
        key=lambda one: (one.record.content[version] if version else 0, one.offset), reverse=True
    )
    return [one.record.content for one in rows]
