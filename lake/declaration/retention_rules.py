"""Rules for the number of retained snapshots and changelogs: the minimum must not exceed the maximum.

`snapshot.num-retained.min` is 10 by default, so a smaller maximum alone contradicts it. Options of
changelogs default to those of snapshots. The reference does not open a table whose options
contradict each other; here such a table cannot be created. An existing table with such options is
read and written. While its numbers for snapshots contradict each other, an expiry that uses them is
refused. If its numbers for changelogs contradict each other, the minimum counts. A shorter time for
changelogs than for snapshots is no contradiction: changelogs then expire with their snapshots.

Source: merge-semantics 8.4, table-format 19.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.lake.errors import Problem
from braid.lake.options.table_options import TableOptions

SNAPSHOT_MIN: Final = "snapshot.num-retained.min"
SNAPSHOT_MAX: Final = "snapshot.num-retained.max"
CHANGELOG_MIN: Final = "changelog.num-retained.min"
CHANGELOG_MAX: Final = "changelog.num-retained.max"


def retention_problems(declared: Mapping[str, str], options: TableOptions) -> Iterator[Problem]:
    """Yield contradictions in the numbers of retained snapshots and changelogs.

    Args:
        declared: Options of the table.
        options: The same options, parsed.
    """
    yield from snapshot_retention_problems(declared, options)
    low, high = options.changelog_num_retained_min, options.changelog_num_retained_max
    # A contradiction that changelogs only inherit is reported for snapshots.
    if low > high and (CHANGELOG_MIN in declared or CHANGELOG_MAX in declared):
        yield _contradiction(
            declared,
            (CHANGELOG_MIN, low, f"by default, like `{SNAPSHOT_MIN}`"),
            (CHANGELOG_MAX, high, f"by default, like `{SNAPSHOT_MAX}`"),
        )


def snapshot_retention_problems(
    declared: Mapping[str, str], options: TableOptions
) -> Iterator[Problem]:
    """Yield contradictions in the number of retained snapshots; arguments as for `retention_problems`."""
    low, high = options.snapshot_num_retained_min, options.snapshot_num_retained_max
    if low > high:
        unset = "by default"
        yield _contradiction(declared, (SNAPSHOT_MIN, low, unset), (SNAPSHOT_MAX, high, unset))


def _contradiction(
    declared: Mapping[str, str], least: tuple[str, int, str], most: tuple[str, int, str]
) -> Problem:
    """Return the problem; its field is the maximum if that is declared, else the minimum.

    Args:
        declared: Options of the table.
        least: The option of the minimum, its number, and where an undeclared number comes from.
        most: The same for the maximum.
    """
    (low_key, low, low_reason), (high_key, high, high_reason) = least, most
    if high_key not in declared:
        return Problem(
            field=low_key,
            value=declared[low_key],
            message=f"must not be more than `{high_key}`, which is {high} {high_reason}",
            hint=f"set `{high_key}` to at least {low}, too",
        )
    reason = "" if low_key in declared else f" {low_reason}"
    return Problem(
        field=high_key,
        value=declared[high_key],
        message=f"must not be less than `{low_key}`, which is {low}{reason}",
        hint=f"set `{low_key}` to at most {high}, too",
    )
