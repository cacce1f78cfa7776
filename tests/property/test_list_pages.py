"""Pages of lists: together they are the whole list in its order, whatever their sizes, and hold over changes in between."""

from hypothesis import given, strategies as st

from braid.service.control.lists.list_pages import Place, page_of, place_after

VALUES = st.none() | st.integers(0, 3)
ENTRIES = st.dictionaries(st.text("abc", min_size=1, max_size=2), VALUES, max_size=12)


def all_pages(
    entries: dict[str, int | None],
    sizes: list[int],
    *,
    is_descending: bool,
    added: dict[str, int | None],
) -> list[str]:
    """Return the names of all pages; `added` entries come between the first two pages."""
    found: list[str] = []
    after: Place | None = None
    for turn in range(100):
        shown = entries if turn == 0 else {**added, **entries}
        places = [(Place(value, name, is_descending), name) for name, value in shown.items()]
        page = page_of(places, after=after, page_size=sizes[turn % len(sizes)], digest="d")
        found += page.entries
        if page.next_page_token is None:
            return found
        after = place_after(
            page.next_page_token, "d", is_by_name=False, is_descending=is_descending
        )
    raise AssertionError(found)


@given(
    entries=ENTRIES,
    added=ENTRIES,
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    is_descending=st.booleans(),
)
def test_pages_are_the_list_in_its_order(
    entries: dict[str, int | None],
    added: dict[str, int | None],
    sizes: list[int],
    is_descending: bool,  # drawn
) -> None:
    known = sorted(
        ((value, name) for name, value in entries.items() if value is not None),
        reverse=is_descending,
    )
    unknown = sorted(name for name, value in entries.items() if value is None)
    expected = [name for _, name in known] + unknown

    assert all_pages(entries, sizes, is_descending=is_descending, added={}) == expected
    # What was there all the time is on one page each, in the same order.
    others = {name: value for name, value in added.items() if name not in entries}
    with_others = all_pages(entries, sizes, is_descending=is_descending, added=others)
    assert [name for name in with_others if name in entries] == expected
