"""Options of file indexes: the columns of a data file that get a bloom filter, and the size of the filter.

```
file-index.bloom-filter.columns        id,email,tags[color]      one key of a MAP counts as a column
file-index.bloom-filter.<column>.fpp   0.1
file-index.bloom-filter.<column>.items 1000000
```

Columns of other kinds of index are only listed (`FileIndexOptions.declared`).

An option of a MAP column applies to each of the map's keys for which the same option is not set.

Source: table-format 16; `org.apache.paimon.fileindex.FileIndexOptions`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake.errors import Problem

FPP_DEFAULT: Final = 0.1
FPP_MIN: Final = 1e-30
"""A filter of this probability has 100 hash functions; readers count at most 127 (`HASH_FUNCTIONS_MAX`)."""

_PREFIX: Final = "file-index."
_COLUMNS: Final = ".columns"
BLOOM_COLUMNS: Final = "file-index.bloom-filter.columns"
_BLOOM: Final = "bloom-filter"
_FPP: Final = "fpp"
_ITEMS: Final = "items"
_INT_MAX: Final = 2_147_483_647
_COUNT: Final = re.compile(r"\+?[0-9]{1,30}")
_NUMBER: Final = re.compile(r"\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomColumn:
    """One column, or one key of a MAP, that gets a bloom filter.

    Attributes:
        column: Name of the table's column.
        map_key: The key whose value is indexed; None for a column that is not a MAP.
        fpp: False positive probability: the share of absent values that the filter may report as
            present, between 0 and 1.
        items: Distinct values that a file is expected to hold; None sizes the filter by the values
            that the file really holds.
    """

    column: str
    map_key: str | None = None
    fpp: float = FPP_DEFAULT
    items: int | None = None

    @property
    def name(self) -> str:
        """The name in options and in index files."""
        return self.column if self.map_key is None else f"{self.column}[{self.map_key}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIndexOptions:
    """The options of file indexes of one table.

    Attributes:
        blooms: The columns with a bloom filter, in the order in which they are declared.
        declared: All columns that are named, by kind of index, kinds of other engines included.
        problems: Declarations that cannot be read or have no effect; defaults are used instead.
    """

    blooms: tuple[BloomColumn, ...]
    declared: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]


def parse_file_index_options(options: Mapping[str, str]) -> FileIndexOptions:
    """Return the options of file indexes among the options of a table; never raises."""
    problems: list[Problem] = []
    declared: dict[str, tuple[str, ...]] = {}
    for key, value in options.items():
        if key.startswith(_PREFIX) and key.endswith(_COLUMNS):
            kind = key.removeprefix(_PREFIX).removesuffix(_COLUMNS)
            names = [name.strip() for name in value.split(",")]
            if not all(names):
                problems.append(
                    Problem(field=key, value=value, message="a name between two commas is empty")
                )
            declared[kind] = tuple(dict.fromkeys(filter(None, names)))
    blooms = tuple(_bloom(name, options, problems) for name in declared.get(_BLOOM, ()))
    problems += _undeclared(options, declared)
    return FileIndexOptions(blooms=blooms, declared=declared, problems=tuple(problems))


def column_of(name: str) -> tuple[str, str | None]:
    """Return the column of a declared name, and the key of a MAP or None.

    Example:
        >>> column_of("tags[color]"), column_of("id")
        (('tags', 'color'), ('id', None))
    """
    start = name.find("[")
    if start < 0 or not name.endswith("]"):
        return name, None
    return name[:start], name[start + 1 : -1]


def _bloom(name: str, options: Mapping[str, str], problems: list[Problem]) -> BloomColumn:
    column, map_key = column_of(name)

    def value(option: str) -> tuple[str, str | None]:
        own = f"{_PREFIX}{_BLOOM}.{name}.{option}"
        key = own if own in options else f"{_PREFIX}{_BLOOM}.{column}.{option}"
        return key, options.get(key)

    key, text = value(_FPP)
    fpp = FPP_DEFAULT if text is None else _parse_share(text)
    if fpp is None:
        message = f"expected a number from {FPP_MIN} and below 1, such as {FPP_DEFAULT}"
        problems.append(Problem(field=key, value=text, message=message))
        fpp = FPP_DEFAULT
    key, text = value(_ITEMS)
    items = None if text is None else _parse_count(text)
    if text is not None and items is None:
        hint = "leave it out for filters that are as large as their files need"
        message = f"expected a whole number from 1 to {_INT_MAX}"
        problems.append(Problem(field=key, value=text, message=message, hint=hint))
    return BloomColumn(column=column, map_key=map_key, fpp=fpp, items=items)


def _undeclared(
    options: Mapping[str, str], declared: Mapping[str, tuple[str, ...]]
) -> list[Problem]:
    """Return a problem for each option of a column without that index; the reference refuses these too."""
    problems: list[Problem] = []
    for key, value in options.items():
        parts = key.split(".")
        # As in the reference, names with a dot cannot have options of their own.
        if not key.startswith(_PREFIX) or len(parts) != 4:
            continue
        _, kind, name, option = parts
        names = declared.get(kind, ())
        if name not in names and name not in {column_of(other)[0] for other in names}:
            problems.append(
                Problem(
                    field=key,
                    value=value,
                    message=f"the column `{name}` has no such index",
                    hint=f"name it in `{_PREFIX}{kind}{_COLUMNS}`, or leave the option out",
                )
            )
        elif kind == _BLOOM and option not in (_FPP, _ITEMS):
            problems.append(
                Problem(
                    field=key,
                    value=value,
                    message="bloom filters have no such option",
                    hint=f"options of a column: {_FPP}, {_ITEMS}",
                )
            )
    return problems


def _parse_share(text: str) -> float | None:
    number = float(text) if _NUMBER.fullmatch(text.strip()) else 0.0
    return number if FPP_MIN <= number < 1 else None


def _parse_count(text: str) -> int | None:
    number = int(text) if _COUNT.fullmatch(text.strip()) else 0
    return number if 1 <= number <= _INT_MAX else None
