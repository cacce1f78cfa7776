"""Options of `spark.readStream.format("braid")`: the table, the columns, where to start, and the size of a batch.

Spark asks a data source for its columns without saying whether a batch or a stream is read. So a streaming read names
its start, which a batch read cannot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from braid.lake import InvalidRequest, Problem, ReadAt
from braid.pipelines.spark.source_options import (
    COLUMNS,
    PATH,
    TABLE,
    WAREHOUSE,
    TableChoice,
    by_known_name,
    columns_of,
    refuse,
    table_problems,
    unknown_options,
    whole_number,
)

START: Final = "start"
START_SNAPSHOT: Final = "start-snapshot-id"
START_TAG: Final = "start-tag"
START_TIME: Final = "start-timestamp"
FILES_MAX: Final = "maxFilesPerTrigger"
CONSUMER: Final = "consumer-id"
RAW: Final = "raw"
OPTIONS: Final = (
    WAREHOUSE,
    TABLE,
    PATH,
    COLUMNS,
    START,
    START_SNAPSHOT,
    START_TAG,
    START_TIME,
    FILES_MAX,
    CONSUMER,
    RAW,
)
STARTS: Final = (START, START_SNAPSHOT, START_TAG, START_TIME)
FULL: Final = "full"
LATEST: Final = "latest"
HOW_TO_START: Final = f"`{START}` is `{FULL}` or `{LATEST}`; others: {', '.join(STARTS[1:])}"
"""Hint for a streaming read without a start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(TableChoice):
    """The options of one streaming read, parsed; the kind follows the columns.

    Attributes:
        start: FULL, with the rows as they are, or LATEST, with the changes from now on.
        snapshot_id: Instead, the first snapshot whose changes are read.
        tag: Instead, the tag after whose state changes are read.
        timestamp: Instead, the time after which changes are read (see `ReadAt`).
        files_max: The largest number of files of a batch; None: no bound.
        consumer: Name of the consumer that holds the changes, also while no query runs; None: a lease does, while one runs.
        is_raw: Whether records may be read as they were written.
    """

    start: str = FULL
    snapshot_id: int | None = None
    tag: str | None = None
    timestamp: str | None = None
    files_max: int | None = None
    consumer: str | None = None
    is_raw: bool = False


def names_start(options: Mapping[str, str]) -> bool:
    """Return whether options are those of a streaming read."""
    return any(key.lower() in STARTS for key in options)


def stream_options(options: Mapping[str, str]) -> StreamOptions:
    """Return the options with their values parsed.

    Args:
        options: The options as Spark passes them; the case of names does not matter.

    Raises:
        InvalidRequest: `problems` has each option that is unknown, missing or malformed.
    """
    given = by_known_name(options, OPTIONS)
    problems = [*unknown_options(given, OPTIONS), *table_problems(given)]
    starts = [key for key in STARTS if key in given]
    if not starts:
        problems.append(
            Problem(
                field=START,
                value=None,
                message="missing: a streaming read names its start",
                hint=HOW_TO_START,
            )
        )
    if len(starts) > 1:
        problems.append(
            Problem(
                field=starts[1],
                value=given[starts[1]],
                message=f"cannot be given together with `{starts[0]}`",
            )
        )
    if given.get(START, FULL) not in (FULL, LATEST):
        message = f"expected `{FULL}` or `{LATEST}`"
        problems.append(Problem(field=START, value=given[START], message=message))
    if given.get(RAW, "false").lower() not in ("true", "false"):
        message = "expected `true` or `false`"
        problems.append(Problem(field=RAW, value=given[RAW], message=message))
    snapshot_id = whole_number(given, START_SNAPSHOT, problems)
    files_max = whole_number(given, FILES_MAX, problems)
    columns = columns_of(given, problems)
    _check_time(given, problems)
    refuse(problems)
    return StreamOptions(
        warehouse=given.get(WAREHOUSE),
        table=given.get(TABLE),
        path=given.get(PATH),
        columns=columns,
        start=given.get(START, FULL),
        snapshot_id=snapshot_id,
        tag=given.get(START_TAG),
        timestamp=given.get(START_TIME),
        files_max=files_max,
        consumer=given.get(CONSUMER),
        is_raw=given.get(RAW, "false").lower() == "true",
    )


def _check_time(given: Mapping[str, str], problems: list[Problem]) -> None:
    """Add a problem if the start is a time that cannot be parsed."""
    time = given.get(START_TIME)
    if time is None:
        return
    try:
        ReadAt(timestamp=time)
    except InvalidRequest as error:
        problems += [replace(problem, field=START_TIME, value=time) for problem in error.problems]
