"""Merge patches: the examples of RFC 7396, and laws that hold for every pair of objects."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from braid.schemas.merge_patch import MergePatch

OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=2), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def patched(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    return MergePatch(patch).applied_to(document)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": "foo"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
    ids=str,
)
def test_the_examples_of_the_standard(
    document: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    assert patched(document, patch) == result


@given(document=OBJECTS, patch=OBJECTS)
def test_a_patch_that_is_made_twice_changes_nothing_more(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = str(document)
    once = patched(document, patch)

    assert patched(once, patch) == once
    assert str(document) == before
    assert patched(document, {}) == document


@given(document=OBJECTS, patch=OBJECTS)
def test_what_a_patch_does_not_name_stays(document: dict[str, Any], patch: dict[str, Any]) -> None:
    result = patched(document, patch)

    assert {name: result[name] for name in document.keys() - patch.keys()} == {
        name: document[name] for name in document.keys() - patch.keys()
    }
    assert all(name not in result for name, value in patch.items() if value is None)
