"""Java and we take turns on one table, twelve random rounds of it for every engine."""

import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.interop.alternating_tables import GivenTable, any_table, order_free_table
from tests.interop.alternation import FREE_TURNS, FULL_TURNS, Alternation
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import open_table
from tests.interop.twins import AppendedTwin, JavaTwin
from tests.support.soaking import soak

pytestmark = [pytest.mark.interop, pytest.mark.slow]

ROUNDS = 12
ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
KINDS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors-64": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "input": {"changelog-producer": "input"},
}
FORMATS: Mapping[str, Mapping[str, str]] = {
    "orc": {"file.format": "orc"},
    "avro, vectors": {"file.format": "avro", "deletion-vectors.enabled": "true"},
    "by level, lookup": {"file.format.per.level": "0:avro,5:orc", "changelog-producer": "lookup"},
}
FREE = [
    (kind, engine)
    for kind in KINDS
    for engine in ENGINES
    if engine != "first-row" or kind in ("plain", "lookup")  # others are refused
]
"""Options of the tables that do not depend on what is compacted when; `make soak` takes the others as well."""
SOAKED = [*FREE, *((kind, engine) for kind in FORMATS for engine in ENGINES[:3])]


@pytest.mark.parametrize("engine", ENGINES)
def test_any_table(engine: str, java: JavaDriver, tmp_path: Path) -> None:
    check_any_table(engine, java, tmp_path, seed=len(engine))


def check_any_table(engine: str, java: JavaDriver, tmp_path: Path, *, seed: int) -> None:
    given = any_table("any", engine=engine, seed=seed, rounds=ROUNDS)
    twin = JavaTwin(given.case, java, tmp_path / "t.db" / "twin")
    table = given_alternation(given, java, tmp_path, twin, seed)

    take_turns(table, given, FULL_TURNS)


@pytest.mark.parametrize(("kind", "engine"), FREE[1::2])
def test_order_free_table(kind: str, engine: str, java: JavaDriver, tmp_path: Path) -> None:
    check_order_free_table(kind, engine, java, tmp_path, seed=len(kind))


@pytest.mark.parametrize("kind", FORMATS)
def test_table_of_other_formats(kind: str, java: JavaDriver, tmp_path: Path) -> None:
    check_order_free_table(
        kind, "partial-update", java, tmp_path, seed=len(kind), rounds=ROUNDS // 2
    )


def check_order_free_table(
    kind: str, engine: str, java: JavaDriver, tmp_path: Path, *, seed: int, rounds: int = ROUNDS
) -> None:
    options = {**KINDS, **FORMATS}[kind]
    given = order_free_table(kind, engine=engine, seed=seed, rounds=rounds, options=options)
    table = given_alternation(given, java, tmp_path, AppendedTwin(given.case), seed)

    take_turns(table, given, FREE_TURNS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_tables_for_an_hour(java: JavaDriver, tmp_path: Path) -> None:
    chance = random.Random()

    def work(number: int) -> None:
        seed = chance.randrange(1 << 30)
        kind, engine = SOAKED[number % len(SOAKED)]
        print(f"seed {seed}, {kind}, {engine}")
        folder = tmp_path / str(number)
        check_any_table(engine, java, folder / "any", seed=seed)
        check_order_free_table(kind, engine, java, folder / "free", seed=seed)
        shutil.rmtree(folder)

    soak(work)


def given_alternation(
    given: GivenTable, java: JavaDriver, folder: Path, twin: AppendedTwin | JavaTwin, seed: int
) -> Alternation:
    """Let Java create the table, which then has whatever Java writes into a schema."""
    path = folder / "t.db" / "table"
    java.do("create", path, case=dict(given.case.raw))
    return Alternation(case=given.case, path=path, java=java, twin=twin, chance=random.Random(seed))


def take_turns(table: Alternation, given: GivenTable, turns: Sequence[str]) -> None:
    """Write first, then do anything; compact fully in the end."""
    table.turn("write", given.commits[0])
    for rows in given.commits[1:]:
        table.turn(table.chance.choice(turns), rows)
    table.turn("compact", [])
    assert_one_level(table)


def assert_one_level(table: Alternation) -> None:
    """Check that a full compaction has been one."""
    ours = open_table(table.path)
    snapshot = ours.latest_snapshot()
    assert snapshot is not None
    assert len({entry.file.level for entry in ours.live_files(snapshot)}) <= 1
