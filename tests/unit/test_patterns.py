"""No regular expression of the product takes quadratic time: texts come from messages and requests."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.regex_repeats import quadratic_repeats

FOLDERS: Final = (
    "backfill",
    "client",
    "formats",
    "lake",
    "pipelines",
    "records",
    "registry",
    "schemas",
    "service",
)
_LITERAL: Final = re.compile(r"\bre\s*\.\s*(?!compile\b)\w+\s*\(")
SEARCHES: Final = ("search", "findall", "finditer", "sub", "split")
# The texts of these are short or trusted.
BOUNDED: Final = frozenset(
    {
        ("formats/mapping/time_pattern.py", "_TOKEN"),  # a declared pattern: at most 100 characters
        ("formats/expressions/patterns.py", "_ATOM"),  # of an expression: at most 2,000 characters
        ("lake/format/tag.py", "_ISO_DURATION"),
        ("schemas/field_texts.py", "_ENTRY"),  # docstrings of this product
    }
)


def _named_patterns() -> Iterator[tuple[str, str, re.Pattern[Any], bool]]:
    """Yield file, name, pattern and whether it is searched, for the constants of all modules."""
    for path in _modules():
        source = path.read_text(encoding="utf-8")
        if "re.compile(" not in source:
            continue
        module = importlib.import_module("braid." + str(path.with_suffix("")).replace("/", "."))
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and re.search(
                rf"^{name}\b.*= re\.", source, re.MULTILINE
            ):
                is_searched = any(f"{name}.{method}(" in source for method in SEARCHES)
                yield str(path), name, value, is_searched


def _literal_patterns() -> Iterator[tuple[str, str, re.Pattern[Any], bool]]:
    """Yield the same for patterns that are written where they are used."""
    for path in _modules():
        source = path.read_text(encoding="utf-8")
        # Only few modules use one: to parse and walk all of them takes more than a second.
        if not _LITERAL.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                    args=[ast.Constant(value=str(text)), _, *_],
                ) if method != "compile":
                    yield str(path), text, re.compile(text), method in SEARCHES


def _modules() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted(Path(folder).rglob("*.py"))]


PATTERNS: Final = [*_named_patterns(), *_literal_patterns()]


def test_patterns_are_found_in_every_kind_of_module() -> None:
    names = {name for _, name, *_ in PATTERNS}

    assert {"_NAMES", "_NUMBER", "_TOKEN", r'realm="([^"]*)"'} <= names
    assert any(is_searched for *_, is_searched in PATTERNS)


@pytest.mark.parametrize(
    ("pattern", "is_searched"),
    [
        pytest.param(pattern, is_searched, id=f"{path} {name}")
        for path, name, pattern, is_searched in PATTERNS
        if (path, name) not in BOUNDED
    ],
)
def test_no_two_repeats_read_the_same_characters(
    pattern: re.Pattern[Any], is_searched: bool
) -> None:
    assert quadratic_repeats(pattern, is_searched=is_searched) == []


@pytest.mark.parametrize(
    "text",
    [
        r"[0-9]+\.?[0-9]*",
        r"\s*(\d+)\s*([a-z]*)\s*",
        r"(\d*)(x?)\d+",
        r"(?:a|b+)c?b*",
        r"\w+(?:-?\w+)?",
        r"(a+)+",
        r"(?:x\d*\d*)+",
    ],
)
def test_repeats_that_share_a_character_are_found(text: str) -> None:
    assert quadratic_repeats(re.compile(text), is_searched=False)


@pytest.mark.parametrize(
    "text",
    [r"\[([^\]]*)\]", r'"(?:[^"\\]|\\.)*"|x', r"\w\w*=", r"\$\{(a|b):([^}]+)\}", r"<!--.*?-->"],
)
def test_a_search_that_begins_again_is_found(text: str) -> None:
    assert quadratic_repeats(re.compile(text, re.DOTALL), is_searched=True)
    assert not quadratic_repeats(re.compile(text, re.DOTALL), is_searched=False)


@pytest.mark.parametrize(
    "text",
    [
        r"(?:\$\{[^}\n]*\}|[^\s;])+",
        r"x((\[[^\]]*\])|(?:.))*",
        r"(?:a|b|\$\{(?:a|b):[^}]+\}|[$]|.)+;",
    ],
)
def test_an_alternative_that_is_tried_again_is_found(text: str) -> None:
    assert quadratic_repeats(re.compile(text), is_searched=False)


@pytest.mark.parametrize(
    "text",
    [
        r"[0-9]+(?:\.[0-9]*)?",
        r"(?:\$\{[^{}\n]*\}|[^\s;])+",
        r"(?:\$\{[^}\n]*\}|[^$;])+",
        r"(?:\$\{[^}\n]*\}?|[^\s;])+",
        r"\s*(\d+)\s*(?:([a-z]+)\s*)?",
        r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)',
        r"\[([^\[\]]*)\]",
        r"\d{1,9}\d{1,9}",
    ],
)
def test_linear_patterns_pass(text: str) -> None:
    assert quadratic_repeats(re.compile(text, re.DOTALL), is_searched=True) == []
