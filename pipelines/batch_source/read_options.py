"""Options of `spark.read.format("braid")`: which table, which state of it, how it is cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lake import Catalog, InvalidRequest, Problem, Table, parse_size

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
    """What is to be read.

    Attributes:
        warehouse: Address of the warehouse; None where `path` says it all.
        table: `db.table` in it; None likewise.
        path: Of the table's directory; None where warehouse and table are named.
        columns: Of the result, in order; None means all.
        where: Conditions that rows fulfil, as `parse_conditions` takes them; None for every row.
        snapshot_id: The state that is read: a snapshot. None of the three means the newest.
        tag: Instead: a tag.
        timestamp: Instead: the newest state of then, as `Table.scan` takes it.
        split_bytes: Of the files of a task; None means as the table says.
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
            TableNotFound: There is none.
            UnsupportedFeature: It needs what this version does not have.
        """
        if self.path is not None:
            return Table.open(self.path)
        assert self.warehouse is not None
        assert self.table is not None
        return Catalog(self.warehouse).table(self.table)


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Return the options with their values read.

    Args:
        options: As Spark has them; upper and lower case are the same.

    Raises:
        InvalidRequest: `problems` names each option that is unknown, missing or cannot be read.
    """
    given = {key.lower(): value for key, value in options.items()}
    problems = [*_unknown(given), *_place_problems(given)]
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


def _place_problems(given: Mapping[str, str]) -> list[Problem]:
    """Return what is wrong with where the table is said to be."""
    if PATH in given:
        return [
            Problem(field=key, value=given[key], message="not beside a path")
            for key in (WAREHOUSE, TABLE)
            if key in given
        ]
    hint = 'name a warehouse and a table (`db.name`), or the table\'s directory: .load("/…")'
    return [
        Problem(field=key, value=None, message="the table is not said", hint=hint)
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
