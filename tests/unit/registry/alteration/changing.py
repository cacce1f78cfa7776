"""Helpers of tests that change registered tables."""

from typing import Any

import pytest

from braid.lake import Table
from braid.registry.alteration.alteration import AlterationPlan
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused
from braid.registry.layout.physical_table import physical_table
from braid.registry.registrar import Registrar
from braid.registry.store.named_request import NamedRequest
from braid.schemas import SchemaChanges, TableDocument
from tests.unit.registry.shop import definition, orders

ORDERS = "shop.orders"


def changed(
    registrar: Registrar, *changes: dict[str, Any], key: str | None = None, **options: Any
) -> TableDocument:
    """Apply changes in the form of a request."""
    requested = SchemaChanges.model_validate({"changes": changes})
    named = None if key is None else NamedRequest(key=key, digest=requested.model_dump_json())
    return registrar.named(named).alter(ORDERS, plan_changes(requested.changes), **options)


def refused(registrar: Registrar, *changes: dict[str, Any]) -> list[tuple[str | None, str]]:
    """Return pointer and message of what is wrong with changes, and check that the dry run reports the same."""
    requested = SchemaChanges.model_validate({"changes": changes}).changes
    plan = plan_changes(requested)
    before = registrar.document(ORDERS)
    with pytest.raises(DefinitionRefused) as caught:
        registrar.alter(ORDERS, plan)
    assert registrar.plan_alteration(ORDERS, plan).problems == caught.value.problems
    assert registrar.document(ORDERS) == before
    return [(problem.pointer, problem.message) for problem in caught.value.problems]


def names_of(table: Table) -> list[str]:
    table.refresh()
    return [field.name for field in table.schema.fields]


def agrees(document: TableDocument, table: Table) -> bool:
    """Return whether the table is as declared, columns in the declared order."""
    table.refresh()
    definition = physical_table(document.table)
    return (
        [(f.name, str(f.type), f.description, f.default_value) for f in table.schema.fields]
        == [(f.name, str(f.type), f.description, f.default_value) for f in definition.columns]
        and table.schema.options == definition.options
        and table.schema.id == document.schema_id
    )


def one_stream(registrar: Registrar, name: str, **spec: Any) -> str:
    """Register a table of three columns, all of which its stream reads."""
    columns = [
        {"name": "id", "type": "BIGINT"},
        {"name": "v", "type": "INT"},
        {"name": "kind", "type": "STRING"},
    ]
    declared = {"columns": columns, "primary_key": ["id"], "sequence_groups": []} | spec
    registrar.put_table("shop", name, orders(**declared))
    registrar.put_stream(f"shop.{name}", "one", definition("one"))
    return f"shop.{name}"


def plan(*changes: dict[str, Any]) -> AlterationPlan:
    return plan_changes(SchemaChanges.model_validate({"changes": changes}).changes)
