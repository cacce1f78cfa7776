"""The functions of expressions exist, and depend on their arguments alone."""

import re
from pathlib import Path

import pytest

from braid.formats.expressions.functions import FUNCTIONS, OPERATORS
from braid.formats.expressions.sql_engine import sql_engine

STABILITY: dict[str, set[str | None]] = {}
for name, stability in sql_engine().functions():
    STABILITY.setdefault(name, set()).add(stability)
LIKES = ("!~~", "!~~*")  # written as regular expressions


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *OPERATORS} - {*LIKES}))
def test_the_engine_declares_the_function_as_consistent(name: str) -> None:
    # A macro has no stability of its own: the functions that it consists of have.
    assert STABILITY[name] <= {"CONSISTENT", None}


def test_macros_are_known_for_how_often_they_write_their_arguments() -> None:
    macros = {name for name in FUNCTIONS if None in STABILITY[name]}

    written_twice = {name for name in macros if FUNCTIONS[name].copies == 2}
    assert written_twice == {"array_to_string", "nullif", "split_part"}
    once = {"if", "date_add", "list_append", "list_prepend"}
    assert macros - written_twice == once | {f"list_{one}" for one in ("avg", "max", "min", "sum")}


def test_functions_of_the_clock_of_chance_and_of_the_process_are_left_out() -> None:
    assert not [name for name in FUNCTIONS if STABILITY[name] - {"CONSISTENT", None}]
    assert not {"now", "today", "random", "getenv", "current_setting", "repeat"} & {*FUNCTIONS}


def test_the_guide_lists_them() -> None:
    guide = Path("docs/guides/mapping.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| for \| functions \|\n\|---\|---\|\n((?:\|.*\n)+)", guide)

    shown = set(re.findall(r"`([a-z_0-9]+)`", table))
    assert shown - {"coalesce"} == {name for name in FUNCTIONS if not name.endswith("like_escape")}
