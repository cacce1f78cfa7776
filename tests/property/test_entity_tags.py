"""Headers with entity tags: every list of tags is read as it was written, and no other text is taken for one."""

import re

from hypothesis import given, strategies as st

from braid.service.entity_tags import EntityTags, is_known, parse_entity_tags

OPAQUE = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters='"\x7f'), max_size=6
).filter(lambda text: not re.search("[\x7f-\x9f]", text))
TAGS = st.lists(st.tuples(st.booleans(), OPAQUE), min_size=1, max_size=5)
BETWEEN = st.sampled_from([",", ", ", " ,\t", ",,", ", ,"])
LISTED = re.compile(r'(W/)?"[^"\x00-\x20\x7f]*"')


def written(tag: tuple[bool, str]) -> str:
    is_weak, opaque = tag
    return f'W/"{opaque}"' if is_weak else f'"{opaque}"'


@given(tags=TAGS, between=BETWEEN, cut=st.integers(min_value=0, max_value=5))
def test_a_list_is_read_as_it_was_written(
    tags: list[tuple[bool, str]], between: str, cut: int
) -> None:
    lines = [between.join(map(written, part)) for part in (tags[:cut], tags[cut:]) if part]

    assert parse_entity_tags(lines) == EntityTags(
        strong=frozenset(opaque for is_weak, opaque in tags if not is_weak),
        weak=frozenset(opaque for is_weak, opaque in tags if is_weak),
    )
    for tag in tags:
        assert is_known(written(tag), ", ".join(lines))
        assert is_known(f'W/"{tag[1]}"', lines[0]) == (
            tag[1] in parse_entity_tags(lines[:1]).opaque
        )


@given(st.text(st.sampled_from('W/"a,* \t\x80é'), max_size=12))
def test_a_text_is_a_list_of_tags_or_refused(text: str) -> None:
    try:
        found = parse_entity_tags([text])
    except ValueError:
        assert not is_known('"a"', text)
        return
    assert found.is_any == (text.strip() == "*")
    assert found.is_any or set(LISTED.sub("", text)) <= set(", \t")
    tags = [
        (is_weak, one)
        for is_weak in (True, False)
        for one in (found.weak if is_weak else found.strong)
    ]
    assert found.is_any or parse_entity_tags([",".join(map(written, tags))]) == found
