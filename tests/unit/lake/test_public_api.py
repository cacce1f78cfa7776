"""What `lake` promises to applications: these names, and no others."""

import lake


def test_the_list_of_names_is_sorted_and_without_repeats() -> None:
    constants_first = sorted(set(lake.__all__), key=lambda name: (not name.isupper(), name))

    assert lake.__all__ == constants_first


def test_every_listed_name_can_be_imported() -> None:
    assert [name for name in lake.__all__ if not hasattr(lake, name)] == []


def test_every_public_thing_is_listed() -> None:
    """Rooms (modules) become attributes by being imported; they are not part of the promise."""
    module_type = type(lake)
    public = {
        name
        for name, value in vars(lake).items()
        if not name.startswith("_") and not isinstance(value, module_type)
    }

    assert public == set(lake.__all__)


def test_every_public_class_and_function_says_what_it_is() -> None:
    undocumented = [
        name
        for name in lake.__all__
        if callable(getattr(lake, name)) and not getattr(lake, name).__doc__
    ]

    assert undocumented == []
