"""Options of `spark.read.format("braid")`: the table, the table state, the columns, conditions, and the size of a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake import Problem, parse_size
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
from braid.pipelines.table_changes.stream_options import (
    CONSUMER,
    FILES_MAX,
    HOW_TO_START,
    RAW,
)

WHERE: Final = "where"
SNAPSHOT_ID: Final = "snapshot-id"
TAG: Final = "tag"
TIMESTAMP: Final = "timestamp"
SPLIT_SIZE: Final = "split-size"
OPTIONS: Final = (WAREHOUSE, TABLE, PATH, COLUMNS, WHERE, SNAPSHOT_ID, TAG, TIMESTAMP, SPLIT_SIZE)
_OF_STREAMS: Final = {
    key.lower(): f"only streaming reads have the option, and they name their start: {HOW_TO_START}"
    for key in (FILES_MAX, CONSUMER, RAW)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(TableChoice):
    """The options of one read, parsed.

    Attributes:
        where: Text of the conditions that rows fulfil, as `parse_conditions` accepts it; None for every row.
        snapshot_id: The state to read, as a snapshot; without this, tag and timestamp the newest is read.
        tag: The state to read, as a tag.
        timestamp: The state to read, as the newest one at that time (see `ReadAt`).
        split_bytes: Size of the files of a task; None means the table's option.
    """

    where: str | None = None
    snapshot_id: int | None = None
    tag: str | None = None
    timestamp: str | None = None
    split_bytes: int | None = None

    @property
    def is_newest(self) -> bool:
        """Whether the newest state is read."""
        return self.snapshot_id is None and self.tag is None and self.timestamp is None


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Return the options with their values parsed.

    Args:
        options: The options as Spark passes them; the case of names does not matter.

    Raises:
        InvalidRequest: `problems` has each option that is unknown, missing or malformed.
    """
    given = by_known_name(options, OPTIONS)
    problems = [*unknown_options(given, OPTIONS, elsewhere=_OF_STREAMS), *table_problems(given)]
    columns = columns_of(given, problems)
    snapshot_id = whole_number(given, SNAPSHOT_ID, problems)
    split_bytes = _size(given, SPLIT_SIZE, problems)
    refuse(problems)
    return ReadOptions(
        warehouse=given.get(WAREHOUSE),
        table=given.get(TABLE),
        path=given.get(PATH),
        columns=columns,
        where=given.get(WHERE),
        snapshot_id=snapshot_id,
        tag=given.get(TAG),
        timestamp=given.get(TIMESTAMP),
        split_bytes=split_bytes,
    )


def _size(given: Mapping[str, str], key: str, problems: list[Problem]) -> int | None:
    text = given.get(key)
    if text is None:
        return None
    size = parse_size(text)
    if not size:
        problems.append(Problem(field=key, value=text, message="expected a size such as `128 mb`"))
        return None
    return size
