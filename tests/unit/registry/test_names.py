"""Rules for names."""

import pytest

from braid.registry.names import check_name


@pytest.mark.parametrize(("kind", "length_max"), [("column", 128), ("stream", 80)])
def test_a_hint_shows_a_name_that_is_accepted(kind: str, length_max: int) -> None:
    (problem,) = check_name("daily orders" * 20, "name", kind=kind)

    assert problem.hint is not None
    hint = problem.hint.removeprefix("for example `").removesuffix("`")
    assert len(hint) == length_max
    assert list(check_name(hint, "name", kind=kind)) == []
