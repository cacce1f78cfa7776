"""What a client may do, by its grants."""

import pytest

from braid.schemas.access import AccessScope, Grant
from braid.service.column_mask import NO_MASK
from braid.service.principal import ANYONE, NOBODY, Principal

READ, WRITE, OPERATE, ADMIN = AccessScope


def grant(text: str) -> Grant:
    scope, _, tables = text.partition(":")
    return Grant(scope=AccessScope(scope), tables=tuple(tables.split(",")))


@pytest.mark.parametrize(
    ("grants", "table", "highest"),
    [
        (["read:shop.orders"], "shop.orders", READ),
        (["write:shop.orders"], "shop.orders", WRITE),
        (["operate:shop.*"], "shop.orders", OPERATE),
        (["admin:*"], "shop.orders", ADMIN),
        (["read:*", "operate:shop.*", "write:shop.orders"], "shop.orders", OPERATE),
        (["admin:shop.other,shop.orders"], "shop.orders", ADMIN),
        (["read:shop.order_*"], "shop.order_lines", READ),
        (["read:*.orders"], "crm.orders", READ),
        (["admin:shop.orders"], "shop.orders2", None),
        (["admin:shop.orders"], "shop.order", None),
        (["admin:shop.orders"], "Shop.orders", None),
        (["admin:shop.order_*"], "shop.orders", None),
        (["admin:*.orders"], "crm.people", None),
        # Parts of an address may have dots, but names of tables have one.
        (["admin:shop.*"], "shop.x.orders", None),
        (["admin:*.orders"], "a.b.orders", None),
        (["admin:shop.*"], "shop.", ADMIN),
        (["admin:shop.*"], "shopx.orders", None),
        (["admin:shop.*"], f"shop.{'x' * 16_000}", ADMIN),
        (["read:shop.*", "admin:crm.*"], "shop.orders", READ),
        ([], "shop.orders", None),
    ],
)
def test_a_scope_includes_those_before_it(
    grants: list[str], table: str, highest: AccessScope | None
) -> None:
    principal = Principal("p", [grant(one) for one in grants])
    expected = [] if highest is None else list(AccessScope)[: list(AccessScope).index(highest) + 1]

    for _ in range(2):  # the second time from what is remembered
        assert [scope for scope in AccessScope if principal.may(scope, table)] == expected


def test_what_is_about_no_table_needs_a_grant_of_any_or_of_every_table() -> None:
    principal = Principal("p", [grant("operate:shop.*"), grant("read:*")])

    assert [s for s in AccessScope if principal.may_anywhere(s)] == [READ, WRITE, OPERATE]
    assert [s for s in AccessScope if principal.may_everywhere(s)] == [READ]


def test_many_tables_are_judged_alike() -> None:
    principal = Principal("p", [grant("read:shop.t1*")])

    found = [n for n in range(1_000) if principal.may(READ, f"shop.t{n}")]

    assert found == [n for n in range(1_000) if str(n).startswith("1")]


def test_anyone_may_do_everything_and_nobody_nothing() -> None:
    assert all(ANYONE.may(scope, "a.b.c") and ANYONE.may_everywhere(scope) for scope in AccessScope)
    assert not any(NOBODY.may(scope, "a.b") or NOBODY.may_anywhere(scope) for scope in AccessScope)


@pytest.mark.parametrize(
    ("table", "masked"),
    [
        ("crm.people", set()),  # shown by a grant without a mask
        ("crm.firms", {"email"}),  # what both grants mask
        ("shop.orders", {"email", "phone"}),
        ("other.t", {"email", "phone"}),
    ],
)
def test_a_column_is_masked_if_every_grant_for_the_table_masks_it(
    table: str, masked: set[str]
) -> None:
    principal = Principal(
        "p",
        [
            Grant(scope=READ, tables=("*",), masked_columns=("email", "phone")),
            Grant(scope=READ, tables=("crm.*",), masked_columns=("email",)),
            Grant(scope=WRITE, tables=("crm.people",)),
        ],
    )

    for _ in range(2):  # found, then remembered
        assert principal.mask(table).columns == masked


def test_without_masks_nothing_is_looked_for() -> None:
    assert Principal("p", [Grant(scope=READ, tables=("*",))]).mask("a.b") is NO_MASK


@pytest.mark.parametrize("scope", [WRITE, OPERATE, ADMIN])
def test_columns_are_masked_for_readers_alone(scope: AccessScope) -> None:
    with pytest.raises(ValueError, match="a grant of `read` alone"):
        Grant(scope=scope, tables=("*",), masked_columns=("email",))
