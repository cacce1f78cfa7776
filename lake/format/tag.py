"""Tag files: a snapshot under a name, with an optional time to live.

A tag file is the JSON of a snapshot and, only if a time to live is set, two further keys:

```
tagCreateTime     [year, month, day, hour, minute[, second[, nanosecond]]], local time
tagTimeRetained   seconds as a decimal number, 18000.000000000
```

Both are also read as ISO 8601 text, which the format's own reader accepts.

Source: table-format 20.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

import orjson

from braid.lake.errors import CorruptData
from braid.lake.format.json_document import JsonDocument, dump_json
from braid.lake.format.snapshot import Snapshot, parse_snapshot, serialize_snapshot

_CREATE_TIME = "tagCreateTime"
_TIME_RETAINED = "tagTimeRetained"
_ISO_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?:T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+(?:\.\d*)?)S)?)?",
    re.IGNORECASE,
)
_NANOS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A named snapshot, whose files are kept as long as the tag exists.

    Attributes:
        name: Unique within the table (or branch).
        snapshot: The whole tagged snapshot, so that it stays readable after its expiry.
        created: Creation time in the creator's local time, without a zone; None without a time to live.
        retained_ms: Time to live in milliseconds; None for a tag that does not expire.
    """

    name: str
    snapshot: Snapshot
    created: datetime | None = None
    retained_ms: int | None = None

    def is_expired(self, *, now_ms: int, zone: tzinfo | None = None) -> bool:
        """Return whether the time to live is over.

        Args:
            now_ms: Milliseconds since 1970 UTC.
            zone: Local time zone of the creators of tags; None for the machine's.
        """
        if self.created is None or self.retained_ms is None:
            return False
        # Compared as durations, because the end of a very long time to live is not a valid date.
        age = local_time(now_ms, zone=zone) - self.created
        return age > timedelta(milliseconds=min(self.retained_ms, _LONGEST_MS))


_LONGEST_MS = timedelta.max // timedelta(milliseconds=1)


def local_time(time_ms: int, *, zone: tzinfo | None = None) -> datetime:
    """Return a time as local time, without a zone.

    Args:
        time_ms: Milliseconds since 1970 UTC.
        zone: The local time zone; None for the machine's.
    """
    seconds, milliseconds = divmod(time_ms, 1000)
    shown = datetime.fromtimestamp(seconds, tz=zone) + timedelta(milliseconds=milliseconds)
    return shown.replace(tzinfo=None)


def parse_tag(data: bytes, *, name: str) -> Tag:
    """Return the tag in the bytes of a tag file.

    Raises:
        CorruptData: The bytes are not a JSON object, or a key is missing or of the wrong kind.
        UnsupportedFeature: The file has a newer version, or an unknown commit kind.
    """
    document = JsonDocument.parse(data, what="tag")
    return Tag(
        name=name,
        snapshot=parse_snapshot(data),
        created=_parse_time(document.value(_CREATE_TIME)),
        retained_ms=_parse_duration_ms(document.value(_TIME_RETAINED)),
    )


def serialize_tag(tag: Tag) -> bytes:
    """Return the bytes of the tag file.

    Without a time to live the bytes equal those of the snapshot file, as the oldest readers of tags require.
    """
    data = serialize_snapshot(tag.snapshot)
    if tag.created is None or tag.retained_ms is None:
        return data
    document = orjson.loads(data)
    seconds, milliseconds = divmod(tag.retained_ms, 1000)
    # Written as text, because Java writes nine digits, which a float does not keep.
    decimal = f"{seconds}.{milliseconds * _NANOS_PER_MS:09d}"
    times = {
        _CREATE_TIME: _time_parts(tag.created),
        _TIME_RETAINED: orjson.Fragment(decimal.encode()),
    }
    return dump_json({**document, **times})


def _time_parts(time: datetime) -> list[int]:
    parts = [time.year, time.month, time.day, time.hour, time.minute]
    if time.second or time.microsecond:
        parts.append(time.second)
    if time.microsecond:
        parts.append(time.microsecond * 1000)
    return parts


def _parse_time(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=None)
        if isinstance(value, list) and 5 <= len(value) <= 7:
            year, month, day, hour, minute, second, nanos = [*value, 0, 0][:7]
            time = datetime(year, month, day, hour, minute, second, nanos // 1000, tzinfo=UTC)
            return time.replace(tzinfo=None)
    except (ValueError, TypeError) as error:
        raise _unreadable(_CREATE_TIME, value) from error
    raise _unreadable(_CREATE_TIME, value)


def _parse_duration_ms(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Computed from the text, so that 0.1 s is 100 ms exactly.
        return int(Decimal(repr(value)) * 1000)
    found = _ISO_DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None or not any(found[part] for part in ("days", "hours", "minutes", "seconds")):
        raise _unreadable(_TIME_RETAINED, value)
    days, hours, minutes = (int(found[part] or 0) for part in ("days", "hours", "minutes"))
    seconds = Decimal(found["seconds"] or 0) + 60 * (minutes + 60 * (hours + 24 * days))
    return int(seconds * 1000) * (-1 if found["sign"] == "-" else 1)


def _unreadable(key: str, value: object) -> CorruptData:
    text = f"tag file has {value!r} under `{key}`, expected a time as the format writes it"
    return CorruptData(text)
