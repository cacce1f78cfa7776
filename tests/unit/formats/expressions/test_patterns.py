"""The size of a pattern is that of its parts with repetitions written out."""

import pytest

from braid.formats.expressions.patterns import pattern_size


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{2,}", 2),
        ("a{2,5}b", 6),
        ("a+{3}", 3),
        ("(ab){10}", 20),
        ("((a{10}){10}){10}", 1_000),
        ("[a-z]{10}", 50),
        (r"\pL", 500),
        (r"\p{Greek}{2}", 1_000),
        (r"[^\pL\PN_]{2}", 2_000),
        (r"(\pL|\pN){3}", 3_003),
        (r"\(\pL{2}", 1_002),
        (r"[(]\{3}", 7),
        ("(((", 0),
        (")))", 3),
        (r"\Q(\pL{9}\E{2}", 22),
        ("a{0}", 1),
    ],
)
def test_sizes(pattern: str, size: int) -> None:
    assert pattern_size(pattern) == size
