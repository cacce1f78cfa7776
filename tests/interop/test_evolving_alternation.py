"""Java and we take turns on one table, twenty rounds of it, and alter it on the way."""

import itertools
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from tests.interop.evolving_alternation import EvolvingAlternation, given_case
from tests.interop.java_driver import JavaDriver
from tests.property.evolving_model import ENGINES
from tests.support.soaking import soak

pytestmark = [pytest.mark.interop, pytest.mark.slow]

ROUNDS = 20
TURNS = ("alter", "alter", "write", "write", "write", "compact")
KINDS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
}
CASES = [
    ("plain", "partial-update"),
    ("vectors", "deduplicate"),
    ("plain", "deduplicate"),
    ("lookup", "aggregation"),
    ("plain", "first-row"),
]


@pytest.mark.parametrize(("kind", "engine"), CASES[:2])
def test_twenty_rounds(kind: str, engine: str, java: JavaDriver) -> None:
    (table,) = take_turns(kind, engine, java, chance=len(kind + engine))

    assert table.java_changes


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_rounds_for_an_hour(java: JavaDriver) -> None:
    cases = itertools.cycle(CASES)

    def work(_: int) -> None:
        chance = random.Random().randrange(1 << 30)
        kind, engine = next(cases)
        print(f"seed {chance}, {kind}, {engine}")
        take_turns(kind, engine, java, chance=chance)

    soak(work)


def take_turns(
    kind: str, engine: str, java: JavaDriver, *, chance: int
) -> list[EvolvingAlternation]:
    """Let both take their turns on a table that Java creates, which has whatever Java writes into a schema."""
    tables: list[EvolvingAlternation] = []

    @seed(chance)
    @settings(
        max_examples=2,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def rounds(data: st.DataObject) -> None:
        if not data.draw(st.integers(0, 1 << 30)):
            return  # the first example is always the simplest of all
        options = {"bucket": "2", **ENGINES[engine].options, **KINDS[kind]}
        # Java names files of its lookups by the partition, and fails where that has a slash.
        looks_up = kind != "plain" or engine == "first-row"
        case = given_case(options, is_partitioned=not looks_up and bool(chance % 2))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.db" / "table"
            java.do("create", path, case=case)
            table = EvolvingAlternation(path=path, java=java, engine=ENGINES[engine])
            table.turn("write", data)
            for _ in range(ROUNDS):
                table.turn(data.draw(st.sampled_from(TURNS)), data)
            tables.append(table)

    rounds()
    return tables
