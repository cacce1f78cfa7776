"""Options that reads and writes with the format `braid` have in common, and the checks of their values."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from braid.lake import Catalog, InvalidRequest, Problem, Table

WAREHOUSE: Final = "warehouse"
TABLE: Final = "table"
PATH: Final = "path"
COLUMNS: Final = "columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChoice:
    """The table and the columns that a read names.

    Attributes:
        warehouse: Address of the warehouse; None where `path` is given.
        table: `db.table` in the warehouse; None where `path` is given.
        path: The table's directory; None where warehouse and table are given.
        columns: The columns of the result, in order; None means all.
    """

    warehouse: str | None = None
    table: str | None = None
    path: str | None = None
    columns: tuple[str, ...] | None = None

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


def by_known_name(options: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """Return options by their names as Braid spells them; other names are in lower case, as Spark passes all.

    Args:
        options: The options as Spark passes them; the case of names does not matter.
        known: The names that exist.
    """
    spelled = {name.lower(): name for name in known}
    return {spelled.get(key.lower(), key.lower()): value for key, value in options.items()}


def columns_of(given: Mapping[str, str], problems: list[Problem]) -> tuple[str, ...] | None:
    """Return the columns that are named; None means all. A list that names none, or one twice, is added to the problems."""
    text = given.get(COLUMNS)
    if text is None:
        return None
    columns = tuple(map(str.strip, text.split(",")))
    if not all(columns) or len(set(columns)) < len(columns):
        message = "expected names of columns, each once, with commas between them"
        hint = f"without `{COLUMNS}` all are read"
        problems.append(Problem(field=COLUMNS, value=text, message=message, hint=hint))
    return columns


def unknown_options(
    given: Mapping[str, str],
    known: Collection[str],
    *,
    passed_on: Collection[str] = (),
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> list[Problem]:
    """Return a problem for each option that does not exist.

    Args:
        given: The options, as `by_known_name` spells them.
        known: The names that exist.
        passed_on: Names that exist for Spark, which passes them on.
        elsewhere: Hints for names that exist for another use of the format, in lower case.
    """
    hint = f"known: {', '.join(known)}"
    return [
        Problem(field=key, value=value, message="no such option", hint=elsewhere.get(key, hint))
        for key, value in given.items()
        if key not in known and key not in passed_on
    ]


def table_problems(given: Mapping[str, str]) -> list[Problem]:
    """Return the problems of the options by which a read names its table."""
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


def whole_number(given: Mapping[str, str], key: str, problems: list[Problem]) -> int | None:
    """Return an option that is a number from 1, or None; a value that is none is added to the problems."""
    text = given.get(key)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        problems.append(Problem(field=key, value=text, message="expected a whole number from 1"))
        return None
    return int(text)


def refuse(problems: Iterable[Problem]) -> None:
    """Raise if there is a problem.

    Raises:
        InvalidRequest: With all problems.
    """
    found = list(problems)
    if found:
        message = "the options of the format `braid` cannot be used"
        raise InvalidRequest(message, problems=found)
