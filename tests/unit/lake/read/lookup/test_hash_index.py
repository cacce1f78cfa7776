"""The hash index: every row is found and absent keys are not, also where hashes collide."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.read.lookup.hash_index import Rows, build_index


def given_hashes(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.random.default_rng(5).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("count", [1, 2, 3, 64, 1_000, 20_000])
def test_every_row_is_found_and_nothing_else(count: int) -> None:
    hashes = given_hashes(2 * count)
    there, absent = hashes[:count], hashes[count:]
    index = build_index(there.copy())

    def matches(wanted: Rows, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(there[rows] == there[wanted])

    assert index.find(there, matches).tolist() == list(range(count))
    assert index.find(absent, lambda wanted, _: np.zeros(len(wanted), bool)).tolist() == (
        [-1] * count
    )
    for row in range(0, count, max(1, count // 50)):
        assert row in list(index.candidates(int(there[row])))


def test_an_empty_index_finds_nothing() -> None:
    index = build_index(given_hashes(0))

    found = index.find(given_hashes(10), lambda wanted, _: np.ones(len(wanted), bool))

    assert found.tolist() == [-1] * 10
    assert list(index.candidates(7)) == []


@settings(deadline=None)
@given(
    hashes=st.lists(st.sampled_from([0, 1, 1 << 40, (1 << 64) - 1]), min_size=1, max_size=40),
    wanted=st.lists(st.integers(0, 60), max_size=40),
)
def test_other_keys_with_the_same_hash_are_not_matched(
    hashes: list[int], wanted: list[int]
) -> None:
    """Row r has key r; those that are looked for beyond the rows share a hash with some."""
    index = build_index(np.array(hashes, dtype=np.uint64))
    of_wanted = np.array([hashes[key % len(hashes)] for key in wanted], dtype=np.uint64)
    keys = np.array(wanted, dtype=np.int64)

    found = index.find(of_wanted, lambda numbers, rows: keys[numbers] == rows)

    assert found.tolist() == [key if key < len(hashes) else -1 for key in wanted]
    for key in (key for key in wanted if key < len(hashes)):
        assert key in list(index.candidates(hashes[key]))


def test_a_group_larger_than_the_window_is_found_whole() -> None:
    hashes = np.array([7] * 200 + [1 << 60] * 3, dtype=np.uint64)
    index = build_index(hashes.copy())

    keys, rows = index.all_candidates(np.array([1 << 60, 5 << 60, 7], dtype=np.uint64))

    assert keys.tolist() == [0] * 3 + [2] * 200
    assert rows.tolist() == [200, 201, 202, *range(200)]
    assert list(index.candidates(7)) == list(range(200))


def test_only_candidates_are_compared() -> None:
    hashes = given_hashes(10_000)
    index = build_index(hashes.copy())
    compared: list[int] = []

    def matches(wanted: Rows, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        compared.append(len(rows))
        return np.zeros(len(wanted), dtype=bool)

    index.find(np.random.default_rng(6).integers(0, 2**64, 10_000, dtype=np.uint64), matches)

    assert sum(compared) == 0
