"""Random tables as they are declared: columns, keys, options, and which values go into each column.

A declaration is what a user writes, so it passes the validator, can be created by any engine of the
format, and says nothing of how merging is executed.
"""

import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from braid.lake.format.data_types import (
    DataField,
    DataType,
    assign_field_ids,
    highest_field_id,
)
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type
from tests.conformance.column_types import TypeJson, arrow_type, with_field_ids
from tests.property.domains import (
    ALL,
    ATOMIC,
    DISTINCT_ORDER,
    ORDERED,
    Domain,
)
from tests.property.function_columns import BY_NAME, FUNCTION_COLUMNS, ORDER_FREE, FunctionColumn

ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
REMOVE_ON_DELETE = "partial-update.remove-record-on-delete"
REMOVE_ON_GROUP = "partial-update.remove-record-on-sequence-group"
AGGREGATION_REMOVE = "aggregation.remove-record-on-delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A sequence group: its ordering columns and the columns that they protect."""

    ordering: tuple[str, ...]
    protected: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Declaration:
    """A table as declared.

    Attributes:
        key: Primary-key columns.
        columns: By name, in table order: type, and values that rows have in it.
        options: The table's options, without those of its files.
        groups: Its sequence groups.
        functions: By column: the aggregate function that it names.
        not_null: Columns that are NOT NULL besides the key.
        distinct: Ordering columns whose values never repeat.
        refuses_retracts: A retract is an error, or nothing that a merge need give an answer for.
    """

    key: tuple[str, ...]
    columns: dict[str, Domain]
    options: dict[str, str]
    groups: tuple[Group, ...] = ()
    functions: dict[str, FunctionColumn] = field(default_factory=dict)
    not_null: set[str] = field(default_factory=set)
    distinct: set[str] = field(default_factory=set)
    refuses_retracts: bool = False

    @property
    def engine(self) -> str:
        """Return the merge engine."""
        return self.options["merge-engine"]

    @property
    def sequence_fields(self) -> tuple[str, ...]:
        """Return the columns of `sequence.field`."""
        names = self.options.get("sequence.field", "")
        return tuple(name.strip() for name in names.split(",") if name)

    @property
    def arrow_schema(self) -> pa.Schema:
        """Return the columns in Arrow types."""
        return pa.schema([(name, arrow_type(kind)) for name, (kind, _) in self.columns.items()])

    @property
    def unordered(self) -> dict[str, str]:
        """Return the `compare` hints of a conformance case."""
        hints = {}
        for name, function in self.functions.items():
            if function.name.endswith("_sketch"):
                hints[name] = "sketch"
            elif function.has_unordered_elements:
                hints[name] = "multiset"
        return hints

    @property
    def schema(self) -> TableSchema:
        """Return schema 0 of the table, keys NOT NULL."""
        not_null = self.not_null | set(self.key)
        fields = assign_field_ids(
            [
                DataField(name=name, type=_type(kind).with_nullable(name not in not_null))
                for name, (kind, _) in self.columns.items()
            ]
        )
        return TableSchema(
            id=0,
            fields=fields,
            highest_field_id=highest_field_id(fields),
            partition_keys=(),
            primary_keys=self.key,
            options={"bucket": "1", **self.options},
        )

    def case(self, case_id: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a conformance case of this table; what it expects is for others to say."""
        columns = [
            {"name": column.name, "type": kind if column.type.nullable else _not_null(kind)}
            for column, (kind, _) in zip(self.schema.fields, self.columns.values(), strict=True)
        ]
        return {
            "id": case_id,
            "schema": {"columns": columns, "primary_key": list(self.key), "partition": []},
            "options": {"bucket": "1", "write-only": "true", **self.options},
            "compare": self.unordered,
            "steps": list(steps),
            "expect": {},
        }


def draw_declaration(
    chance: random.Random,
    *,
    engines: Sequence[str] = ENGINES,
    functions: Sequence[FunctionColumn] = FUNCTION_COLUMNS,
) -> Declaration:
    """Return a random table that the validator accepts.

    Args:
        chance: Draws.
        engines: Merge engines to choose from.
        functions: Aggregate functions to choose from.
    """
    engine = chance.choice(engines)
    table = _keyed(chance, engine)
    match engine:
        case "deduplicate":
            _add_plain_columns(table, chance)
            _add_sequence_fields(table, chance)
            _choose(table, chance, ({}, {}, {"ignore-delete": "true"}))
        case "partial-update":
            _make_partial_update(table, chance, functions)
        case "aggregation":
            _make_aggregation(table, chance, functions)
        case _:
            _add_plain_columns(table, chance)
            _choose(table, chance, ({}, {"ignore-delete": "true"}))
            table.refuses_retracts = "ignore-delete" not in table.options
    return shuffled(table, chance)


def draw_order_free_declaration(
    chance: random.Random,
    *,
    engines: Sequence[str],
    functions: Sequence[FunctionColumn] = ORDER_FREE,
) -> Declaration:
    """Return a random table whose rows do not depend on the order of arrival (decision 0008).

    Every column is protected by a group, whose ordering values never repeat, or has a function that
    minds no order; or the table is deduplicate with a sequence field whose values never repeat.
    """
    engine = chance.choice(engines)
    table = _keyed(chance, engine)
    table.refuses_retracts = True
    match engine:
        case "partial-update":
            for index in range(chance.randint(1, 3)):
                group = _new_group(table, chance, index, domains=DISTINCT_ORDER)
                table.distinct.add(group.ordering[0])
                # A group says which value is the last, so there `last_value` has an order of its own.
                choices = (*functions, BY_NAME["last_value"])
                for name in chance.sample(group.protected, chance.randint(0, len(group.protected))):
                    _give_function(table, chance, name, chance.choice(choices))
            _declare_groups(table)
        case "aggregation":
            for index in range(chance.randint(1, 4)):
                name = f"v{index}"
                table.columns[name] = ALL[0]
                _give_function(table, chance, name, chance.choice(functions))
        case _:
            _add_plain_columns(table, chance)
            table.columns["s0"] = chance.choice(DISTINCT_ORDER)
            table.distinct.add("s0")
            table.options["sequence.field"] = "s0"
    table.not_null.clear()
    return shuffled(table, chance)


def shuffled(table: Declaration, chance: random.Random) -> Declaration:
    """Return the table with its columns in another order: no rule may depend on it."""
    names = list(table.columns)
    chance.shuffle(names)
    return replace(table, columns={name: table.columns[name] for name in names})


def _keyed(chance: random.Random, engine: str) -> Declaration:
    key = tuple(f"k{index}" for index in range(chance.randint(1, 2)))
    columns = {name: chance.choice(ATOMIC) for name in key}
    return Declaration(key=key, columns=columns, options={"merge-engine": engine})


def _add_plain_columns(table: Declaration, chance: random.Random) -> None:
    for index in range(chance.randint(0, 3)):
        name = f"v{index}"
        table.columns[name] = chance.choice(ALL)
        if chance.random() < 0.15:
            table.not_null.add(name)


def _add_sequence_fields(table: Declaration, chance: random.Random) -> None:
    count = chance.choice([0, 0, 1, 2])
    names = [f"s{index}" for index in range(count)]
    if not names:
        return
    table.columns |= {name: chance.choice(ORDERED) for name in names}
    table.options["sequence.field"] = ",".join(names)
    if chance.random() < 0.3:
        table.options["sequence.field.sort-order"] = "descending"


def _make_partial_update(
    table: Declaration, chance: random.Random, functions: Sequence[FunctionColumn]
) -> None:
    _add_plain_columns(table, chance)
    if chance.random() < 0.2:
        _add_sequence_fields(table, chance)
    groups = [_new_group(table, chance, index) for index in range(chance.choice([0, 1, 1, 2, 3]))]
    if groups and not table.sequence_fields and chance.random() < 0.2:
        group = chance.choice(groups)
        table.options["sequence.field"] = chance.choice((*group.ordering, group.protected[0]))
    _declare_groups(table)
    if not groups:
        if chance.random() < 0.3:
            _give_last_non_null_values(table, chance)
        _choose(table, chance, ({}, {"ignore-delete": "true"}, {REMOVE_ON_DELETE: "true"}))
        accepting = {"ignore-delete", REMOVE_ON_DELETE}
        table.refuses_retracts = accepting.isdisjoint(table.options)
        return
    for group in groups:
        for name in group.protected:
            if name not in table.sequence_fields and chance.random() < 0.6:
                _give_function(table, chance, name, chance.choice(functions))
    if chance.random() < 0.3:
        _give_last_non_null_values(table, chance)
    ordering = [name for group in groups for name in group.ordering]
    removing = ",".join(chance.sample(ordering, chance.randint(1, len(ordering))))
    _choose(table, chance, ({}, {}, {"ignore-delete": "true"}, {REMOVE_ON_GROUP: removing}))


def _make_aggregation(
    table: Declaration, chance: random.Random, functions: Sequence[FunctionColumn]
) -> None:
    for index in range(chance.randint(1, 4)):
        name = f"v{index}"
        table.columns[name] = chance.choice(ALL)
        if chance.random() < 0.85:
            _give_function(table, chance, name, chance.choice(functions))
    plain = set(table.columns) - set(table.functions) - set(table.key)
    if plain and chance.random() < 0.4:
        default = chance.choice(["last_value", "first_value", "first_non_null_value"])
        table.options["fields.default-aggregate-function"] = default
        table.functions |= dict.fromkeys(plain, BY_NAME[default])
    _add_sequence_fields(table, chance)
    choices: list[dict[str, str]] = [{}, {}, {"ignore-delete": "true"}]
    if not any(key.endswith(".ignore-retract") for key in table.options):
        choices.append({AGGREGATION_REMOVE: "true"})
    _choose(table, chance, choices)


def _new_group(
    table: Declaration,
    chance: random.Random,
    index: int,
    *,
    domains: Sequence[Domain] = ORDERED,
) -> Group:
    group = Group(
        ordering=tuple(f"g{index}{letter}" for letter in "ab"[: chance.choice([1, 1, 2])]),
        protected=tuple(f"p{index}{i}" for i in range(chance.randint(1, 3))),
    )
    table.columns |= {name: chance.choice(domains) for name in group.ordering}
    table.columns |= {name: chance.choice(ALL) for name in group.protected}
    table.groups += (group,)
    return group


def _declare_groups(table: Declaration) -> None:
    for group in table.groups:
        key = f"fields.{','.join(group.ordering)}.sequence-group"
        table.options[key] = ",".join(group.protected)


def _give_function(
    table: Declaration, chance: random.Random, column: str, function: FunctionColumn
) -> None:
    """Let a column have the function: its type and values are chosen anew."""
    table.functions[column] = function
    table.columns[column] = chance.choice(function.domains)
    table.options[f"fields.{column}.aggregate-function"] = function.name
    for suffix, value in chance.choice(function.options).items():
        table.options[f"fields.{column}.{suffix}"] = value
    if chance.random() < (0.2 if function.retracts else 0.6):
        table.options[f"fields.{column}.ignore-retract"] = "true"


def _give_last_non_null_values(table: Declaration, chance: random.Random) -> None:
    """Let columns without a function have the only one that needs no group."""
    function = BY_NAME["last_non_null_value"]
    exempt = set(table.key) | {name for group in table.groups for name in group.ordering}
    names = [name for name in table.columns if name not in exempt and name not in table.functions]
    if chance.random() < 0.5:
        table.options["fields.default-aggregate-function"] = function.name
    else:
        names = [name for name in names if name not in table.sequence_fields]
        names = chance.sample(names, chance.randint(0, len(names)))
        table.options |= {f"fields.{n}.aggregate-function": function.name for n in names}
    table.functions |= dict.fromkeys(names, function)


def _choose(
    table: Declaration, chance: random.Random, choices: Collection[Mapping[str, str]]
) -> None:
    table.options |= chance.choice(list(choices))


def _not_null(kind: TypeJson) -> TypeJson:
    if isinstance(kind, str):
        return f"{kind} NOT NULL"
    return {**kind, "type": f"{kind['type']} NOT NULL"}


def _type(kind: TypeJson) -> DataType:
    # Fields of a ROW need an id to be read; the table gives them others.
    return parse_type(with_field_ids(kind, itertools.count()))
