"""Effects are announced before and after, and after only when they succeeded."""

import pytest

from braid.lake.commit.steps import announce_step, ignore_step


def test_an_effect_is_announced_twice() -> None:
    seen: list[str] = []

    with announce_step(seen.append, "write-hint"):
        seen.append("effect")

    assert seen == ["before write-hint", "effect", "after write-hint"]


def test_a_failed_effect_has_no_after() -> None:
    seen: list[str] = []

    def fail() -> None:
        with announce_step(seen.append, "write-hint"):
            raise RuntimeError("failed")

    with pytest.raises(RuntimeError, match="failed"):
        fail()
    assert seen == ["before write-hint"]


def test_a_step_needs_no_observer() -> None:
    with announce_step(ignore_step, "write-hint"):
        pass
