"""The public names of `lake`: these, and no others."""

from braid import lake


def test_no_name_is_listed_twice() -> None:
    assert sorted(lake.__all__) == sorted(set(lake.__all__))


def test_every_listed_name_can_be_imported() -> None:
    assert [name for name in lake.__all__ if not hasattr(lake, name)] == []


def test_every_public_name_is_listed() -> None:
    """Modules become attributes when they are imported; they are not public."""
    module_type = type(lake)
    public = {
        name
        for name, value in vars(lake).items()
        if not name.startswith("_") and not isinstance(value, module_type)
    }

    assert public == set(lake.__all__)


def test_every_public_class_and_function_has_a_docstring() -> None:
    undocumented = [
        name
        for name in lake.__all__
        if callable(getattr(lake, name)) and not getattr(lake, name).__doc__
    ]

    assert undocumented == []
