"""A cursor is read by any process, and only for its table."""

import pytest

from braid.lake import ChangedKeysPosition, InvalidRequest
from braid.service.control.page_token import encode_token
from braid.service.subscription.cursor import parse_cursor, to_cursor


@pytest.mark.parametrize(
    "position",
    [
        ChangedKeysPosition(),
        ChangedKeysPosition(snapshot_id=7, uuid="a-b"),
        ChangedKeysPosition(snapshot_id=7, uuid=None, records=0),
        ChangedKeysPosition(snapshot_id=7, uuid="a-b", records=40),
    ],
)
def test_a_cursor_stands_for_its_position(position: ChangedKeysPosition) -> None:
    assert parse_cursor("a.b", to_cursor("a.b", position), field="cursor") == position


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "ä",
        "e30",
        to_cursor("a.c", ChangedKeysPosition()),
        to_cursor("a.b", ChangedKeysPosition(snapshot_id=-1)),
        to_cursor("a.b", ChangedKeysPosition(snapshot_id=3, records=-1)),
        to_cursor("a.b", ChangedKeysPosition(snapshot_id=0, records=1)),
        encode_token(b'["a.b", true, null, null]'),
        encode_token(b'["a.b", 1, null, false]'),
    ],
)
def test_other_texts_are_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest, match="cursor is not valid") as refused:
        parse_cursor("a.b", cursor, field="last-event-id")

    assert [problem.field for problem in refused.value.problems] == ["last-event-id"]
