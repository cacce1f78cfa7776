"""Tags are written as the format's own writer does, and read in all its spellings."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.snapshot import parse_snapshot
from braid.lake.format.tag import Tag, local_time, parse_tag, serialize_tag
from tests.unit.lake.format.java_files import java_file

JAVA = java_file("snapshot-4")
TAG = Tag(name="t", snapshot=parse_snapshot(JAVA))
NOON = datetime.fromisoformat("2024-05-06T12:00")


def test_a_tag_that_lives_for_ever_is_its_snapshot_file() -> None:
    assert json.loads(serialize_tag(TAG)) == json.loads(JAVA)
    assert parse_tag(JAVA, name="t") == TAG


@pytest.mark.parametrize(
    ("created", "parts"),
    [
        (NOON, [2024, 5, 6, 12, 0]),
        (NOON.replace(second=7), [2024, 5, 6, 12, 0, 7]),
        (NOON.replace(microsecond=8_000), [2024, 5, 6, 12, 0, 0, 8_000_000]),
    ],
)
def test_a_time_to_live_is_written_as_the_format_does(created: datetime, parts: list[int]) -> None:
    tag = replace(TAG, created=created, retained_ms=18_000_250)

    data = serialize_tag(tag)

    assert json.loads(data)["tagCreateTime"] == parts
    assert b"18000.250000000" in data
    assert parse_tag(data, name="t") == tag


@pytest.mark.parametrize(
    ("value", "retained_ms"),
    [
        (18000, 18_000_000),
        (18000.5, 18_000_500),
        (0.001, 1),
        ("PT5H", 18_000_000),
        ("P1DT1.5S", 86_401_500),
        ("-PT1S", -1_000),
    ],
)
def test_every_spelling_of_a_duration_is_read(value: object, retained_ms: int) -> None:
    assert _parsed(tagTimeRetained=value).retained_ms == retained_ms


def test_a_time_in_iso_8601_is_read() -> None:
    assert _parsed(tagCreateTime="2024-05-06T12:00:00.5").created == NOON.replace(
        microsecond=500000
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tagCreateTime", [2024, 13, 1, 0, 0]),
        ("tagCreateTime", [2024, 5, 6]),
        ("tagCreateTime", [2024, 5, 6, "12", 0]),
        ("tagCreateTime", "noon"),
        ("tagCreateTime", 5),
        ("tagTimeRetained", "P"),
        ("tagTimeRetained", "5 h"),
        ("tagTimeRetained", True),
    ],
)
def test_an_invalid_time_is_corrupt(key: str, value: object) -> None:
    with pytest.raises(CorruptData, match=key):
        _parsed(**{key: value})


def test_a_tag_expires_after_its_time_and_not_at_it() -> None:
    noon_ms = int(NOON.replace(tzinfo=UTC).timestamp() * 1000)
    tag = replace(TAG, created=NOON, retained_ms=1_000)

    assert not tag.is_expired(now_ms=noon_ms + 1_000, zone=UTC)
    assert tag.is_expired(now_ms=noon_ms + 1_001, zone=UTC)
    assert not replace(tag, retained_ms=2**62).is_expired(now_ms=noon_ms + 10**12, zone=UTC)
    assert not TAG.is_expired(now_ms=noon_ms + 10**12, zone=UTC)
    assert not replace(tag, created=None).is_expired(now_ms=noon_ms + 10**12, zone=UTC)


def test_local_time_is_the_time_of_the_zone_without_the_zone() -> None:
    assert local_time(1_500, zone=timezone(timedelta(hours=2))) == datetime.fromisoformat(
        "1970-01-01T02:00:01.500"
    )


def _parsed(**keys: object) -> Tag:
    return parse_tag(json.dumps({**json.loads(JAVA), **keys}).encode(), name="t")
