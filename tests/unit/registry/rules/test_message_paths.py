"""Paths in another notation are refused with the path to write instead."""

import pytest

from braid.registry.rules.message_paths import path_fault


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("$.v", "write `v`"),
        ("$.payload.after.v", "write `payload.after.v`"),
        ("$['payload'].v", "write `payload.v`"),
        ('payload["v"]', "write `payload.v`"),
        ("v[0].x", "read from `v`"),
        ("$.items[*].price", "read from `items`"),
        ("items[]", "read from `items`"),
        ("$", "write `name`"),
        ("a..b", "for example `payload.after.amount`"),
        ("`a.b`", "column of the same name without a `path`"),
        ('x."a.b"', "column of the same name without a `path`"),
        (".a", "for example `payload.after.amount`"),
    ],
)
def test_a_path_that_matches_nothing_is_reported_with_the_one_to_write(
    path: str, hint: str
) -> None:
    fault = path_fault(path)

    assert fault is not None
    assert fault[1].endswith(hint)


@pytest.mark.parametrize(
    "path", ["v", "payload.after.v", "_id.$oid", "a b", "ä", "v]", "@type", "a/b", '5"', "it`s"]
)
def test_names_that_json_can_have_are_paths(path: str) -> None:
    assert path_fault(path) is None
