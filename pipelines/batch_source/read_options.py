"""Options of `spark.read.format("braid")`: the table, the table state, the columns, conditions, and the size of a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake import Catalog, InvalidRequest, Problem, Table, parse_size

WAREHOUSE: Final = "warehouse"
TABLE: Final = "table"
PATH: Final = "path"
COLUMNS: Final = "columns"
WHERE: Final = "where"
SNAPSHOT_ID: Final = "snapshot-id"
TAG: Final = "tag"
TIMESTAMP: Final = "timestamp"
SPLIT_SIZE: Final = "split-size"
OPTIONS: Final = (WAREHOUSE, TABLE, PATH, COLUMNS, WHERE, SNAPSHOT_ID, TAG, TIMESTAMP, SPLIT_SIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of one read, parsed.

    Attributes:
        warehouse: Address of the warehouse; None where `path` is given.
        table: `db.table` in the warehouse; None where `path` is given.
        path: The table's directory; None where warehouse and table are given.
        columns: The columns of the result, in order; None means all.
        where: Text of the conditions that rows fulfil, as `parse_conditions` accepts it; None for every row.
        snapshot_id: The state to read, as a snapshot; without this, tag and timestamp the newest is read.
        tag: The state to read, as a tag.
        timestamp: The state to read, as the newest one at that time (see `ReadAt`).
        split_bytes: Size of the files of a task; None means the table's option.
    """

    warehouse: str | None = None
    table: str | None = None
    path: str | None = None
    columns: tuple[str, ...] | None = None
    where: str | None = None
    snapshot_id: int | None = None
    tag: str | None = None
    timestamp: str | None = None
    split_bytes: int | None = None

    @property
    def is_newest(self) -> bool:
        """Whether the newest state is read."""
        return self.snapshot_id is None and self.tag is None and self.timestamp is None

    def open(self) -> Table:
        """Return the table.

        Raises:
            TableNotFound: The table does not exist.
            UnsupportedFeature: The table needs a feature that this version does not have.
        """
        if self.path is not None:
            return Table.open(self.path)
        assert self.warehouse is not None, "without a path there is a warehouse"
        assert self.table is not None, "without a path there is a table"
        return Catalog(self.warehouse).table(self.table)


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Return the options with their values parsed.

    Args:
        options: The options as Spark passes them; the case of names does not matter.

    Raises:
        InvalidRequest: `problems` has each option that is unknown, missing or malformed.
    """
    given = {key.lower(): value for key, value in options.items()}
    problems = [*_unknown(given), *_table_problems(given)]
    snapshot_id = _number(given, SNAPSHOT_ID, problems)
    split_bytes = _size(given, SPLIT_SIZE, problems)
    if problems:
        message = "the options of the format `braid` cannot be used"
        raise InvalidRequest(message, problems=problems)
    columns = given.get(COLUMNS)
    return ReadOptions(
        warehouse=given.get(WAREHOUSE),
        table=given.get(TABLE),
        path=given.get(PATH),
        columns=None if columns is None else tuple(map(str.strip, columns.split(","))),
        where=given.get(WHERE),
        snapshot_id=snapshot_id,
        tag=given.get(TAG),
        timestamp=given.get(TIMESTAMP),
        split_bytes=split_bytes,
    )


def _unknown(given: Mapping[str, str]) -> list[Problem]:
    known = f"known: {', '.join(OPTIONS)}"
    return [
        Problem(field=key, value=value, message="no such option", hint=known)
        for key, value in given.items()
        if key not in OPTIONS
    ]


def _table_problems(given: Mapping[str, str]) -> list[Problem]:
    """Return the problems of the options that name the table."""
    if PATH in given:
        return [
            Problem(field=key, value=given[key], message="cannot be given together with a path")
            for key in (WAREHOUSE, TABLE)
            if key in given
        ]
    hint = 'name a warehouse and a table (`db.name`), or the table\'s directory: .load("/…")'
    return [
        Problem(field=key, value=None, message="missing", hint=hint)
        for key in (WAREHOUSE, TABLE)
        if key not in given
    ]


def _number(given: Mapping[str, str], key: str, problems: list[Problem]) -> int | None:
    text = given.get(key)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        problems.append(Problem(field=key, value=text, message="expected a whole number from 1"))
        return None
    return int(text)


def _size(given: Mapping[str, str], key: str, problems: list[Problem]) -> int | None:
    text = given.get(key)
    if text is None:
        return None
    size = parse_size(text)
    if not size:
        problems.append(Problem(field=key, value=text, message="expected a size such as `128 mb`"))
        return None
    return size
