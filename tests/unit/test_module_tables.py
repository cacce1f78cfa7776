"""Folders of many modules name them in a table, in the docstring of `__init__`.

Folders of tests with helpers beside the tests name the helpers.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "benchmarks",
    "braid/cli",
    "demo",
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
# The docstring of `braid.lake` is for its users, and not about its modules.
FOLDERS = sorted(
    path.parent.relative_to(ROOT)
    for package in PACKAGES
    for path in (ROOT / package).rglob("__init__.py")
    if path != ROOT / "lake/__init__.py"
)

# Flat folders of tests in which helpers stand beside the tests.
TEST_FOLDERS = tuple(Path("tests") / name for name in ("conformance", "interop", "property"))


def named_in(folder: Path) -> list[str]:
    """Return the modules and folders in the first column of the table, if there is one."""
    text = (ROOT / folder / "__init__.py").read_text()
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(.+?)`", row)]


def parts_of(folder: Path) -> list[str]:
    """Return the modules of a folder, and its folders with a slash."""
    modules = [path.stem for path in (ROOT / folder).glob("*.py") if path.stem != "__init__"]
    folders = [f"{path.parent.name}/" for path in (ROOT / folder).glob("*/__init__.py")]
    return [*modules, *folders]


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_table_of_modules_names_each_once(folder: Path) -> None:
    modules = [part for part in parts_of(folder) if not part.endswith("/")]
    named = named_in(folder)

    if named or len(modules) > 6:
        assert sorted(named) == sorted(parts_of(folder))


@pytest.mark.parametrize("folder", TEST_FOLDERS, ids=str)
def test_a_table_of_helpers_names_each_once(folder: Path) -> None:
    helpers = [part for part in parts_of(folder) if not part.startswith("test_")]

    assert sorted(named_in(folder)) == sorted(helpers)
