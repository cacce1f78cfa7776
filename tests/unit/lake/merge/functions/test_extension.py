"""Functions of packages installed as pip does: a folder on the path with its metadata."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.merge.functions.extension import (
    GROUP,
    reset_installed_functions,
    user_function_names,
)
from braid.lake.merge.functions.registry import function_named

DECLARATION = """
from braid.lake.aggregates import FunctionDeclaration

class Longest:
    def reset(self): pass
    def aggregate(self, accumulated, value):
        return max(accumulated or "", value or "", key=len)
    aggregate_late = aggregate
    def retract(self, accumulated, value): return accumulated

def declared(name):
    return FunctionDeclaration(
        name=name, summary="The longest text.", accepts=lambda kind: True, accepted="text",
        null_rule="ignored", late_rule="as any other", retract_rule=None,
        make=lambda function, kind: Longest(),
    )

longest = declared("acme.longest")
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    reset_installed_functions()
    yield
    reset_installed_functions()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Install":
    return Install(tmp_path, monkeypatch)


class Install:
    """Puts packages of entry points where Python finds them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch

    def __call__(self, package: str, entry_point: str, source: str = DECLARATION) -> None:
        folder = self._folder / package
        metadata = folder / f"{package}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (folder / f"{package}.py").write_text(source)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_point}\n")
        self._monkeypatch.syspath_prepend(str(folder))
        reset_installed_functions()


def test_an_installed_function_is_found_by_its_name(install: Install) -> None:
    install("acme_found", "acme.longest = acme_found:longest")

    declaration = function_named("acme.longest")

    assert declaration is not None
    assert declaration.name == "acme.longest"
    assert "acme.longest" in user_function_names()


def test_a_function_of_no_installed_package_is_none() -> None:
    assert function_named("acme.shortest") is None


@pytest.mark.parametrize(
    ("entry_point", "message"),
    [
        ("acme.longest = acme_broken:absent", "cannot be loaded: AttributeError"),
        ("acme.longest = acme_broken:Longest", "is a type, not a FunctionDeclaration"),
        ("acme.other = acme_broken:longest", "declares the name acme.longest"),
    ],
    ids=["absent", "kind", "name"],
)
def test_a_broken_package_is_refused_with_the_reason(
    install: Install, entry_point: str, message: str
) -> None:
    install("acme_broken", entry_point)

    with pytest.raises(UnsupportedFeature, match="cannot be used") as refused:
        function_named(entry_point.partition(" ")[0])

    assert message in str(refused.value.problems[0])


def test_two_packages_with_one_name_are_refused(install: Install) -> None:
    install("acme_one", "acme.longest = acme_one:longest")
    install("acme_two", "acme.longest = acme_two:longest")

    with pytest.raises(UnsupportedFeature, match="acme_one:longest, acme_two:longest"):
        function_named("acme.longest")


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("reduction=None", "`reduction` as None, not a function"),
        ("make=None", "`make` as None, not a function"),
        ("problems=()", "`problems` as (), not a function"),
        ("order_free='yes'", "`order_free` as 'yes', not True or False"),
        ("stores_unfit=1", "`stores_unfit` as 1, not True or False"),
        ("unfit='all'", "`unfit` as 'all', neither a function nor None"),
        ("summary=None", "`summary` as None, not text"),
        ("retract_rule=False", "`retract_rule` as False, not text"),
        ("options=['cap']", "`options` as ['cap'], not a tuple of FunctionOption"),
        ("aliases='acme.old'", "`aliases` as 'acme.old', not a tuple of str"),
    ],
)
def test_an_invalid_declaration_is_refused_when_it_is_loaded(
    install: Install, attribute: str, message: str
) -> None:
    source = f"""{DECLARATION}
from dataclasses import replace
longest = replace(longest, {attribute})
"""
    package = f"acme_odd_{attribute.partition('=')[0]}"
    install(package, f"acme.longest = {package}:longest", source)

    with pytest.raises(UnsupportedFeature, match="cannot be used") as refused:
        function_named("acme.longest")

    assert message in str(refused.value.problems[0])
