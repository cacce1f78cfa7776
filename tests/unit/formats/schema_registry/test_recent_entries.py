"""Entries are forgotten by last use, once there are too many or they are too large."""

from braid.formats.schema_registry.recent_entries import RecentEntries


def test_the_entry_that_was_not_used_for_longest_is_forgotten() -> None:
    entries = RecentEntries[str, int](count_max=2, size_max=100)
    entries.put("a", 1, size=1)
    entries.put("b", 2, size=1)
    assert entries.get("a") == 1

    entries.put("c", 3, size=1)

    assert [entries.get(key) for key in "abc"] == [1, None, 3]


def test_the_sum_of_sizes_is_bounded_and_the_newest_entry_stays() -> None:
    entries = RecentEntries[str, int](count_max=9, size_max=10)
    entries.put("a", 1, size=6)
    entries.put("a", 2, size=4)  # instead of the first
    entries.put("b", 3, size=6)
    assert [entries.get(key) for key in "ab"] == [2, 3]

    entries.put("c", 4, size=50)

    assert len(entries) == 1
    assert entries.get("c") == 4
    entries.remove("c")
    entries.remove("c")
    entries.put("d", 5, size=10)
    assert entries.get("d") == 5
