"""Random changes of a registered table: made or refused, declaration, streams and schema agree.

What a stream reads is known by the column's field id: whatever becomes of the column's name, its values
come out of the same field of messages.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, TableSchema
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.declaration_import import DeclarationImporter
from braid.registry.errors import DefinitionRefused
from braid.registry.layout.physical_table import physical_table
from braid.registry.registrar import Registrar
from braid.registry.rules.tables.table_rules import check_table
from braid.registry.store.documents import RegistryStore
from braid.schemas import SchemaChanges, TableDocument, TableSpec
from tests.unit.registry.shop import definition, orders

ORDERS = "shop.orders"
ROUNDS = 30
TYPES = ("INT", "BIGINT", "STRING", "DECIMAL(12, 2)", "DECIMAL(14, 4)", "DOUBLE", "ROW<x INT>")


def random_change(random: Random, document: TableDocument, number: int) -> dict[str, Any]:
    """Return a change that names what is there, and may be refused."""
    names = document.table.column_names
    column = random.choice(names)
    place = random.choice(
        [
            {"place": "first"},
            {"place": "last"},
            {"place": "after", "neighbour": random.choice(names)},
            {"place": "before", "neighbour": random.choice(names)},
        ]
    )
    group = random.choice([group.name for group in document.table.sequence_groups])
    add = {"change": "add_column", "column": f"c{number}", "type": random.choice(TYPES)}
    return random.choice(
        [
            {**add, "sequence_group": group, "position": place},
            {**add, "sequence_group": group, "source": f"s.f{number}", "default": "1"},
            {"change": "drop_column", "column": column},
            {"change": "rename_column", "column": column, "to": f"r{number}"},
            {"change": "rename_column", "column": column, "to": random.choice(names)},
            {"change": "update_column_type", "column": column, "type": random.choice(TYPES)},
            {"change": "update_column_position", "column": column, "position": place},
            {"change": "update_column_comment", "column": column, "description": f"d{number}"},
            {"change": "update_column_default", "column": column, "default": None},
            {"change": "add_column", "column": [column, f"n{number}"], "type": "INT"},
            {"change": "update_column_aggregate", "column": column, "aggregate": None},
            {
                "change": "update_column_aggregate",
                "column": column,
                "aggregate": {"function": random.choice(["sum", "max", "last_value"])},
            },
        ]
    )


def sources(
    document: TableDocument, schema: TableSchema
) -> Mapping[tuple[str, int], tuple[str, ...]]:
    """Return where each stream reads each column, by stream and field id."""
    return {
        (name, schema.fields_by_name[one.column].id): one.source_path
        for name, entry in document.streams.items()
        for one in entry.spec.columns
    }


@pytest.mark.parametrize("seed", range(2))
def test_declaration_streams_and_schema_agree_after_every_change(seed: int) -> None:
    random, file_io, clock = Random(seed), MemoryFileIO(), ManualClock()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    registrar.put_table("shop", "orders", orders())
    for name in ("sales", "payments"):
        registrar.put_stream(ORDERS, name, definition(name))
    made = 0
    for number in range(ROUNDS):
        before, old = registrar.document(ORDERS), catalog.table(ORDERS).schema
        changes = [random_change(random, before, number * 10 + at) for at in range(2)]
        plan = plan_changes(SchemaChanges.model_validate({"changes": changes}).changes)
        problems = registrar.plan_alteration(ORDERS, plan).problems
        if problems:
            with pytest.raises(DefinitionRefused) as refused:
                registrar.alter(ORDERS, plan)
            assert refused.value.problems == problems, changes
            assert registrar.document(ORDERS) == before, changes
            assert catalog.table(ORDERS).schema == old, changes
            continue
        document = registrar.alter(ORDERS, plan)
        made += 1
        assert registrar.document(ORDERS) == document, changes
        new = catalog.table(ORDERS).schema
        defined = physical_table(document.table)
        assert [(f.name, str(f.type), f.description, f.default_value) for f in new.fields] == [
            (f.name, str(f.type), f.description, f.default_value) for f in defined.columns
        ], changes
        assert new.options == defined.options, changes
        assert check_table("shop", "orders", document.table) == [], changes
        known, now = sources(before, old), sources(document, new)
        assert {key: now.get(key) for key in known} == known, changes
        added = {f.id for f in new.fields} - {f.id for f in old.fields}
        assert {field_id for _, field_id in now.keys() - known.keys()} <= added, changes

    assert ROUNDS // 10 < made < ROUNDS
    assert declared_elsewhere(registrar.document(ORDERS)) == registrar.document(ORDERS).table


def declared_elsewhere(document: TableDocument) -> TableSpec:
    """Import the declarations of a table that has often changed into an empty warehouse, and return the declaration there."""
    clock, file_io = ManualClock(), MemoryFileIO()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    importer = DeclarationImporter(registrar=registrar, replaces=False, is_dry_run=False)
    importer.import_table(ORDERS, document.table)
    for name, entry in document.streams.items():
        importer.import_stream(ORDERS, name, entry.spec, initial_state=entry.desired_state)
    found = registrar.document(ORDERS)
    declared = {name: entry.spec for name, entry in document.streams.items()}
    assert {name: entry.spec for name, entry in found.streams.items()} == declared
    return found.table
