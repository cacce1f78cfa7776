"""A pattern of LIKE and its regular expression match the same texts."""

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.formats.expressions.like_patterns import like_regex

TEXTS = ["", "a", "ab", "a.b", "a\nb", "50%", "50 %", "x_y", "xay", "ä", "(a)"]


@pytest.mark.parametrize("pattern", ["", "%", "_", "a%", "%b", "a_b", "a.b", "x_y", "(%)"])
def test_it_matches_as_like_does(pattern: str) -> None:
    matches = [re.fullmatch(like_regex(pattern), text, re.DOTALL) is not None for text in TEXTS]

    assert matches == pc.match_like(pa.array(TEXTS), pattern).to_pylist()


def test_an_escaped_character_is_itself() -> None:
    assert like_regex("50!%!_!!%", "!") == "50%_!.*"


@pytest.mark.parametrize(("pattern", "escape"), [("a!", "!"), ("a", "!!")])
def test_an_escape_that_escapes_nothing_is_refused(pattern: str, escape: str) -> None:
    with pytest.raises(ValueError, match="escape"):
        like_regex(pattern, escape)
