"""pypaimon, paimon-rust and we take turns on one table, ten rounds for every kind of it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.compare import difference
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import open_table
from tests.interop.peer_driver import NATIVE, PYPAIMON, RUST, PeerDriver, PeerRefused
from tests.interop.peer_turns import KINDS, OURS, Turns

pytestmark = pytest.mark.interop

ROUNDS = 10
ADDED_IN, RENAMED_IN = 4, 7
COMPACTED_AFTER = (3, 5, ROUNDS)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("peers")


@pytest.fixture(scope="module")
def peers(warehouse: Path) -> Iterator[PeerDriver]:
    with PeerDriver(warehouse) as driver:
        yield driver


def given_turns(name: str, kind: str, peers: PeerDriver, warehouse: Path, seed: int) -> Turns:
    return Turns(
        kind=KINDS[kind],
        name=f"t.{name}",
        warehouse=warehouse,
        peers=peers,
        chance=random.Random(seed),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_us_write_alter_and_read_one_table(
    kind: str, peers: PeerDriver, java: JavaDriver, warehouse: Path
) -> None:
    turns = given_turns(
        kind.replace(" ", "_").replace("-", "_"), kind, peers, warehouse, seed=len(kind)
    )
    writers = (*turns.kind.writers, OURS)

    for number in range(1, ROUNDS + 1):
        if number == ADDED_IN:
            turns.add_column(turns.chance.choice([PYPAIMON, RUST, OURS]))
        if number == RENAMED_IN:
            turns.rename_column(turns.chance.choice([PYPAIMON, RUST, OURS]))
        turns.write(writers[number % len(writers)])
        if number in COMPACTED_AFTER:
            turns.compact()
        turns.look()

    path = warehouse / "t.db" / turns.name.removeprefix("t.")
    ours = open_table(path).scan().to_arrow()
    assert difference(java.rows(path), ours, schema=ours.schema, hints={}) is None


@pytest.mark.parametrize(
    ("kind", "engine", "told"),
    [
        ("sequence groups", PYPAIMON, "not yet implement: fields.version.sequence-group"),
        ("orc", RUST, "ORC compression 'zstd' is not supported"),
    ],
)
def test_a_peer_refuses_the_tables_that_it_is_left_out_of(
    kind: str, engine: str, told: str, peers: PeerDriver, warehouse: Path
) -> None:
    """When this fails a release can do more: let it take its turns."""
    turns = given_turns(f"not_by_{engine}", kind, peers, warehouse, seed=1)
    assert engine not in turns.kind.writers

    with pytest.raises(PeerRefused, match=told):
        turns.write(engine)


def test_pypaimon_reads_no_sequence_groups_but_its_rust_core_does(
    peers: PeerDriver, warehouse: Path
) -> None:
    turns = given_turns("groups_of_ours", "sequence groups", peers, warehouse, seed=2)
    turns.write(OURS)

    with pytest.raises(PeerRefused, match=r"not yet implement: fields.version.sequence-group"):
        peers.read(PYPAIMON, turns.name)
    turns.look()
    assert set(turns.kind.readers) == {NATIVE, RUST}
