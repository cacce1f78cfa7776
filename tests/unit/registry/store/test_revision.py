"""Revisions of documents, and preconditions on them."""

import pytest

from braid.registry.errors import PreconditionFailed
from braid.registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from braid.schemas import StreamColumn


def test_equal_content_has_one_revision_and_other_content_another() -> None:
    revision = revision_of(StreamColumn(column="a"))

    assert revision == revision_of(StreamColumn(column="a", path=None))
    assert revision != revision_of(StreamColumn(column="b"))


@pytest.mark.parametrize("current", [None, "r1"])
def test_without_a_precondition_everything_is_fine(current: str | None) -> None:
    NO_PRECONDITION.check(current)


def test_a_revision_has_to_be_the_current_one() -> None:
    seen = Precondition(revisions=frozenset({"r1", "r2"}))

    seen.check("r2")
    with pytest.raises(PreconditionFailed, match="has changed"):
        seen.check("r3")
    with pytest.raises(PreconditionFailed, match="does not exist any more"):
        seen.check(None)


def test_existence_and_absence_can_be_required() -> None:
    Precondition(exists=True).check("r1")
    Precondition(exists=False).check(None)
    with pytest.raises(PreconditionFailed, match="it does not exist"):
        Precondition(exists=True).check(None)
    with pytest.raises(PreconditionFailed, match="it exists already"):
        Precondition(exists=False).check("r1")
