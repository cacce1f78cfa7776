"""Grants: scopes and patterns of tables."""

import pytest
from pydantic import ValidationError

from braid.schemas.access import AccessScope, Grant


@pytest.mark.parametrize(
    "pattern", ["*", "shop.orders", "shop.*", "*.orders", "shop_*.order_*", "a.b", f"{'a' * 80}.b"]
)
def test_a_pattern_names_tables(pattern: str) -> None:
    assert Grant(scope=AccessScope.READ, tables=(pattern,)).tables == (pattern,)


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "shop", ".", "shop.", ".orders", "*.*", "**", "a.b.c"),
        *("shop.a*b", "shop.*a", "shop.[a]", "shop.orders ", "a.b\n", "ü.b"),
        f"{'a' * 90}.{'b' * 90}",
    ],
)
def test_another_text_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError):
        Grant(scope=AccessScope.READ, tables=(pattern,))


def test_a_grant_has_tables() -> None:
    with pytest.raises(ValidationError):
        Grant(scope=AccessScope.READ, tables=())
    with pytest.raises(ValidationError):
        Grant(scope=AccessScope.READ, tables=("a.b",) * 101)
