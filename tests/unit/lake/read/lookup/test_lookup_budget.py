"""Caches of one process keep their bounds together."""

import pickle
from collections.abc import Callable

import pytest

from lake.read.lookup.file_lookup import FileLookup
from lake.read.lookup.lookup_budget import LookupBudget
from lake.read.lookup.lookup_cache import IDLE_SECONDS, LookupCache
from tests.unit.lake.read.lookup.test_lookup_cache import BIG, GivenFile, ManualSeconds, ask


def given_caches(
    seconds: Callable[[], float], budget: LookupBudget, *, on_disk: bool = False
) -> tuple[LookupCache, LookupCache]:
    def cache() -> LookupCache:
        return LookupCache(
            max_disk_bytes=BIG,
            max_memory_bytes=0 if on_disk else BIG,
            budget=budget,
            seconds=seconds,
        )

    return cache(), cache()


def size_of_one(*, on_disk: bool) -> int:
    one, _ = given_caches(ManualSeconds(), LookupBudget(max_disk_bytes=BIG), on_disk=on_disk)
    ask(one, "a", GivenFile())
    return one.disk_bytes if on_disk else one.memory_bytes


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_no_table_used_for_longest_goes_first(*, on_disk: bool) -> None:
    two = 2 * size_of_one(on_disk=on_disk)
    disk, memory = (two, 0) if on_disk else (0, two)
    budget = LookupBudget(max_disk_bytes=disk, max_memory_bytes=memory)
    first, second = given_caches(ManualSeconds(), budget, on_disk=on_disk)

    ask(first, "a", GivenFile())
    ask(second, "b", GivenFile())
    assert first.ready("a") is not None
    ask(second, "c", GivenFile())

    assert first.ready("a") is not None
    assert second.ready("b") is None
    assert second.ready("c") is not None
    kept = [cache.disk_bytes if on_disk else cache.memory_bytes for cache in (first, second)]
    assert sum(kept) == two


def test_what_is_held_stays_and_goes_when_it_is_given_back() -> None:
    budget = LookupBudget(max_disk_bytes=0, max_memory_bytes=size_of_one(on_disk=False))
    first, second = given_caches(ManualSeconds(), budget)
    file = GivenFile()

    with first.using("held", size=1, make=file.make) as held:
        ask(first, "other", GivenFile())
        ask(second, "a", GivenFile())
        assert isinstance(held, FileLookup)
        assert first.ready("held") is held

    assert first.memory_bytes + second.memory_bytes <= budget.max_memory_bytes


def test_who_asks_one_table_lets_go_what_was_idle_in_another() -> None:
    seconds = ManualSeconds()
    first, second = given_caches(seconds, LookupBudget(max_disk_bytes=0))
    ask(first, "old", GivenFile())
    seconds.now += IDLE_SECONDS * 0.9
    ask(second, "new", GivenFile())
    seconds.now += IDLE_SECONDS * 0.3

    assert second.ready("new") is not None

    assert first.memory_bytes == 0
    assert second.memory_bytes > 0


def test_files_are_kept_as_long_as_a_table_says() -> None:
    seconds = ManualSeconds()
    cache = LookupCache(max_disk_bytes=0, max_memory_bytes=BIG, idle_seconds=10, seconds=seconds)
    ask(cache, "f", GivenFile())
    seconds.now += 9
    assert cache.ready("f") is not None
    seconds.now += 11

    assert cache.ready("another") is None

    assert cache.memory_bytes == 0


def test_another_process_has_a_budget_of_its_own() -> None:
    budget = LookupBudget(max_disk_bytes=7, max_memory_bytes=8)

    assert pickle.loads(pickle.dumps(budget)).max_memory_bytes == 8
