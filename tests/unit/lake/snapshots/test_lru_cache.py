"""Entries that stay in the cache, and those that are evicted first."""

from braid.lake.snapshots.lru_cache import LruCache


def test_the_least_recently_used_are_evicted_first() -> None:
    cache = LruCache(10)
    for name in "abc":
        cache.put(name, name, 3)
    cache.get("a")
    cache.put("d", "d", 3)

    assert [cache.get(name) for name in "abcd"] == ["a", None, "c", "d"]
    assert cache.bytes == 9


def test_a_value_of_more_than_half_the_bound_is_not_evicted_by_small_ones() -> None:
    cache = LruCache(10)
    cache.put("large", "large", 30)
    for number in range(5):
        cache.put(number, number, 1)

    assert cache.get("large") == "large"
    assert cache.get(4) == 4
    assert cache.get(3) is None
    assert cache.bytes == 31


def test_of_two_large_values_the_last_used_stays() -> None:
    cache = LruCache(10)
    cache.put("one", 1, 30)
    cache.put("other", 2, 30)
    cache.put("small", 3, 1)

    assert (cache.get("one"), cache.get("other"), cache.get("small")) == (None, 2, 3)


def test_replaced_and_removed_values_do_not_count() -> None:
    cache = LruCache(10)
    cache.put("a", 1, 4)
    cache.put("a", 2, 5)
    cache.put("b", 3, 5)

    assert (cache.get("a"), cache.bytes) == (2, 10)
    cache.remove("a")
    cache.remove("absent")
    assert (cache.get("a"), cache.bytes) == (None, 5)
