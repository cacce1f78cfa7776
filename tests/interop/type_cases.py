"""Cases that put each column type into each place that a type can have in a table.

The places: the key, the partition, `sequence.field`, the ordering column of a sequence group, a plain
value, and the part of an ARRAY, MAP, MULTISET or ROW.

Left out is what Paimon 1.4.2 itself does otherwise than 2.0.0 (merge-semantics 10), or not at all:

* NaN and -0.0 in columns that order rows, and maps there whose keys and values differ in type: it
  compares them wrongly.
* A descending sequence field within one commit: it sorts its write buffer ascending.
* Partitions by BINARY: its directories have the name of a Java object.
* MULTISETs of DECIMAL or TIMESTAMP: it cannot read its own files.
"""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.conformance.values import Json
from tests.interop.generators import value_maker

TypeJson = Any

ATOMIC_TYPES: tuple[str, ...] = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
    "DECIMAL(1, 0)", "DECIMAL(9, 2)", "DECIMAL(9, 9)", "DECIMAL(18, 4)", "DECIMAL(19, 0)", "DECIMAL(38, 10)", "DECIMAL(38, 38)",
    "CHAR(3)", "VARCHAR(20)", "STRING", "BINARY(4)", "VARBINARY(20)", "BYTES", "DATE",
    *(f"TIME({digits})" for digits in range(10)),
    *(f"TIMESTAMP({digits})" for digits in range(10)),
    *(f"TIMESTAMP({digits}) WITH LOCAL TIME ZONE" for digits in range(10)),
)  # fmt: skip

NESTED_TYPES: dict[str, TypeJson] = {
    "array": {"type": "ARRAY", "element": "INT"},
    "array of arrays": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "STRING"}},
    "map": {"type": "MAP", "key": "INT", "value": "INT"},
    "map of arrays": {
        "type": "MAP", "key": {"type": "ARRAY", "element": "INT"},
        "value": {"type": "ARRAY", "element": "INT"},
    },
    "multiset": {"type": "MULTISET", "element": "STRING"},
    "row": {
        "type": "ROW",
        "fields": [{"name": "a", "type": "INT"}, {"name": "b", "type": "TIMESTAMP(9)"}],
    },
    "row of everything": {
        "type": "ROW",
        "fields": [
            {"name": "a", "type": {"type": "ARRAY", "element": "DATE"}},
            {"name": "m", "type": {"type": "MAP", "key": "STRING", "value": "STRING"}},
            {"name": "s", "type": {"type": "MULTISET", "element": "INT"}},
            {"name": "r", "type": {"type": "ROW", "fields": [{"name": "x", "type": "TIME(3)"}]}},
        ],
    },
}  # fmt: skip


OPAQUE_TYPES: tuple[str, ...] = ("VARIANT",)
"""Types that can be values only."""


def maker(column_type: TypeJson, chance: random.Random) -> Callable[[], Json]:
    """Return a function that draws a non-null value of any type, maps and multisets included."""
    if isinstance(column_type, str):
        if column_type.startswith("TIME("):
            return _time_maker(int(column_type[5]), chance)
        return value_maker(column_type, chance)

    def sometimes_null(make: Callable[[], Json]) -> Json:
        return None if chance.random() < 0.2 else make()

    match column_type["type"]:
        case "ARRAY":
            element = maker(column_type["element"], chance)
            return lambda: [sometimes_null(element) for _ in range(chance.randint(0, 2))]
        case "ROW":
            fields = [maker(field["type"], chance) for field in column_type["fields"]]
            return lambda: [sometimes_null(field) for field in fields]
        case "MULTISET":
            key = maker(column_type["element"], chance)
            return lambda: _pairs(key, lambda: chance.randint(1, 3), chance)
        case _:
            key, value = maker(column_type["key"], chance), maker(column_type["value"], chance)
            return lambda: _pairs(key, lambda: sometimes_null(value), chance)


def key_case(name: str, column_type: str, *, is_partition: bool = False) -> dict[str, Any]:
    """Return a deduplicate table whose primary key, or partition, has the type."""
    columns = [("t", f"{column_type} NOT NULL"), ("n", "INT NOT NULL"), ("v", "INT")]
    partition = ["t"] if is_partition else []
    options = {"bucket": "4"}
    return _case(name, columns, ["t", "n"], options, partition=partition, ordering=["t"])


def sequence_field_case(name: str, column_type: TypeJson) -> dict[str, Any]:
    """Return a deduplicate table ordered by a column of the type."""
    columns = [("k", "INT NOT NULL"), ("v", "INT"), ("t", column_type)]
    return _case(name, columns, ["k"], {"sequence.field": "t"}, ordering=["t"])


def descending_case(name: str, column_type: TypeJson) -> dict[str, Any]:
    """Return such a table in descending order, each key at most once in a commit."""
    case = sequence_field_case(name, column_type)
    for step in case["steps"]:
        step["write"] = list({row[1]: row for row in step["write"]}.values())
    case["options"]["sequence.field.sort-order"] = "descending"
    return case


def group_case(name: str, column_types: Sequence[TypeJson]) -> dict[str, Any]:
    """Return a partial-update table with a sequence group for each type, ordered by a column of it."""
    columns: list[tuple[str, TypeJson]] = [("k", "INT NOT NULL")]
    options = {"merge-engine": "partial-update"}
    for index, column_type in enumerate(column_types):
        columns += [(f"t{index}", column_type), (f"v{index}", "INT")]
        options[f"fields.t{index}.sequence-group"] = f"v{index}"
    ordering = [column for column, _ in columns if column.startswith("t")]
    return _case(name, columns, ["k"], options, ordering=ordering)


def value_case(name: str, column_types: Sequence[TypeJson]) -> dict[str, Any]:
    """Return a partial-update table with each type as a value and inside every nested type."""
    columns: list[tuple[str, TypeJson]] = [("k", "INT NOT NULL")]
    for index, column_type in enumerate(column_types):
        places = _places(column_type)
        columns += [(f"{place}{index}", found) for place, found in places.items()]
    return _case(name, columns, ["k"], {"merge-engine": "partial-update"})


def composite_key_case(name: str, column_types: Sequence[str]) -> dict[str, Any]:
    """Return a deduplicate table whose primary key has a column of each type."""
    columns = [(f"t{index}", f"{kind} NOT NULL") for index, kind in enumerate(column_types)]
    keys = [column for column, _ in columns]
    return _case(name, [*columns, ("v", "INT")], keys, {}, ordering=keys)


def _places(column_type: TypeJson) -> dict[str, TypeJson]:
    in_map = {"type": "MAP", "key": "INT", "value": column_type}
    row = {
        "type": "ROW",
        "fields": [{"name": "x", "type": column_type}, {"name": "y", "type": "INT"}],
    }
    deep = {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "z", "type": in_map}]}}
    places = {
        "t": column_type,
        "a": {"type": "ARRAY", "element": column_type},
        "m": in_map,
        "r": row,
        "d": deep,
    }
    if column_type in OPAQUE_TYPES:
        return places
    places["n"] = {"type": "MAP", "key": column_type, "value": "STRING"}
    if isinstance(column_type, str) and not column_type.startswith(("DECIMAL", "TIMESTAMP")):
        places["s"] = {"type": "MULTISET", "element": column_type}
    return places


def _case(
    name: str,
    columns: Sequence[tuple[str, TypeJson]],
    primary_key: list[str],
    options: dict[str, str],
    *,
    partition: Sequence[str] = (),
    ordering: Sequence[str] = (),
) -> dict[str, Any]:
    chance = random.Random(name)
    makers = {column: maker(_nullable(kind), chance) for column, kind in columns}
    for column in ordering:
        makers[column] = _orderly(makers[column])
    # Few keys, so that most of them are written by every commit.
    keys = [[makers[column]() for column in primary_key] for _ in range(6)]

    def row() -> list[Json]:
        key = dict(zip(primary_key, chance.choice(keys), strict=True))
        return [
            key[column] if column in key else (None if chance.random() < 0.2 else makers[column]())
            for column, _ in columns
        ]

    return {
        "id": name,
        "schema": {
            "columns": [{"name": column, "type": kind} for column, kind in columns],
            "primary_key": primary_key,
            "partition": list(partition),
        },
        "options": {"bucket": "1", "write-only": "true", **options},
        "steps": [{"write": [["+I", *row()] for _ in range(12)]} for _ in range(3)],
        "expect": {},
    }


def _orderly(make: Callable[[], Json]) -> Callable[[], Json]:
    """Return a maker of values that Paimon 1.4.2 puts in order as 2.0.0 does."""

    def make_orderly() -> Json:
        value = make()
        while value == "NaN" or (isinstance(value, float) and value == 0):
            value = make()
        return value

    return make_orderly


def _nullable(column_type: TypeJson) -> TypeJson:
    if isinstance(column_type, str):
        return column_type.removesuffix(" NOT NULL")
    return column_type


def _pairs(
    key: Callable[[], Json], value: Callable[[], Json], chance: random.Random
) -> list[list[Json]]:
    keys = {json.dumps(drawn): drawn for drawn in (key() for _ in range(chance.randint(0, 3)))}
    return [[drawn, value()] for drawn in keys.values()]


def _time_maker(digits: int, chance: random.Random) -> Callable[[], Json]:
    def make() -> Json:
        seconds = chance.choice([0, 86_399, chance.randrange(86_400)])
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        shown = min(digits, 3)
        fraction = f"{chance.randrange(10**shown):0{shown}}" if shown else ""
        return f"{clock}.{fraction.ljust(3, '0')}"

    return make
