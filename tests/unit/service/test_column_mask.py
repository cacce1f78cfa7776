"""Masked columns: which an answer has, and which requests are refused."""

from typing import Any

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, TableSchema
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import TableDocument
from braid.service.column_mask import NO_MASK, ColumnMask, ColumnMasked
from tests.unit.registry.shop import ORDERS, orders


def declared(**changes: Any) -> tuple[TableDocument, TableSchema]:
    """Return the example table with some fields of its declaration replaced."""
    clock, file_io = ManualClock(), MemoryFileIO()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    document = registrar.put_table("shop", "orders", orders(**changes)).document
    return document, catalog.table("shop.orders").schema


def mask(*columns: str) -> ColumnMask:
    return ColumnMask(frozenset(columns))


def test_masked_columns_are_left_out_where_none_are_named() -> None:
    _, schema = declared()

    visible = mask("total", "method", "not there").visible(schema, None)

    assert visible is not None
    assert visible[:4] == ("id", "region", "currency", "order_version")
    assert {"total", "method"}.isdisjoint(visible)


def test_named_columns_stay_as_they_are_named() -> None:
    _, schema = declared()

    assert mask("total").visible(schema, ["paid", "id"]) == ("paid", "id")
    assert NO_MASK.visible(schema, ["total"]) == ("total",)
    assert NO_MASK.visible(schema, None) is None


def test_a_masked_column_cannot_be_named() -> None:
    _, schema = declared()

    with pytest.raises(ColumnMasked, match="you may not see `total`"):
        mask("total").visible(schema, ["id", "total"])


def test_the_order_of_a_masked_column_that_its_group_keeps_cannot_be_named() -> None:
    sales, *others = ORDERS["sequence_groups"]
    _, schema = declared(sequence_groups=[sales | {"keep": ["total"]}, *others])
    assert "total__order" in schema.field_names

    with pytest.raises(ColumnMasked, match="you may not see `total__order`"):
        mask("total").visible(schema, ["id", "total__order"])
    with pytest.raises(ColumnMasked, match="you may not see `total__order`"):
        mask("total").check_page(("id", "total__order"))
    assert mask("paid").visible(schema, ["total__order"]) == ("total__order",)


@pytest.mark.parametrize(
    ("column", "changes"),
    [
        ("id", {}),
        ("order_version", {}),  # the ordering column of a group
        ("region", {"partition_keys": ["region"]}),
        ("shipped", {"row_ttl": {"column": "shipped", "seconds": 60}}),
    ],
)
def test_rows_depend_on_keys_orders_and_expiry(column: str, changes: dict[str, Any]) -> None:
    _, schema = declared(**changes)

    with pytest.raises(ColumnMasked, match=f"`{column}` is masked, and decides"):
        mask(column).visible(schema, None)
    with pytest.raises(ColumnMasked, match="decides"):
        mask(column, "total").visible(schema, ["paid"])


def test_a_page_token_of_a_client_that_sees_more_is_refused() -> None:
    mask("total").check_page(("id", "paid"))
    NO_MASK.check_page(None)

    with pytest.raises(ColumnMasked, match="the page token is of a client that sees all"):
        mask("total").check_page(None)
    with pytest.raises(ColumnMasked, match="`total`"):
        mask("total").check_page(("id", "total"))


def test_states_that_tell_whether_a_masked_column_is_null_are_refused() -> None:
    document, schema = declared()
    mask("total").check_status(document, schema)
    cleared, of_cleared = declared(deletes="clear_columns")

    with pytest.raises(ColumnMasked, match="they tell whether `total` is null"):
        mask("total").check_status(cleared, of_cleared)
    NO_MASK.check_status(cleared, of_cleared)


def test_the_tag_depends_on_the_columns_alone() -> None:
    assert NO_MASK.tag == ""
    assert mask("a", "b").tag == mask("b", "a").tag
    assert len({mask("a").tag, mask("b").tag, mask("a", "b").tag, mask("ab").tag}) == 4
