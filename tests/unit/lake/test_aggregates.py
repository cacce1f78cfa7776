"""Promises of `braid.lake.aggregates` to packages with aggregate functions."""

from dataclasses import fields

from braid import lake
from braid.lake import aggregates


def test_the_list_of_names_is_sorted_and_complete() -> None:
    public = {name for name in vars(aggregates) if not name.startswith("_")}
    constants_first = sorted(public, key=lambda name: (not name.isupper(), name))

    assert aggregates.__all__ == constants_first


def test_names_that_packages_import_from_lake_are_the_same_objects() -> None:
    shared = [name for name in aggregates.__all__ if hasattr(lake, name)]

    assert "FunctionDeclaration" in shared
    assert [n for n in shared if getattr(lake, n) is not getattr(aggregates, n)] == []


def test_every_type_that_a_declaration_holds_can_be_imported() -> None:
    names = {name for name in aggregates.__all__ if isinstance(getattr(aggregates, name), type)}
    mentioned = " ".join(str(field.type) for field in fields(aggregates.FunctionDeclaration))

    assert {"FunctionOption", "Compatibility", "UnfitValue", "Reduction"} <= names
    assert all(name in mentioned for name in ("FunctionOption", "Compatibility", "UnfitValue"))
