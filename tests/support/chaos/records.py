"""Records of the chaos test: from a seed, each with what has to become of it."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from tests.support.chaos.streams import ORDERS, PARTITIONS, PAYMENTS, SHIPPING, SMALL_BYTES, STREAMS

KEYS: Final = 200
_BAD: Final = 0.03
_LARGE: Final = 0.02
_REPEATED: Final = 0.05
_LATE: Final = 0.1
_DELETES: Final = 0.05
_OLDER_MAX: Final = 50

NUMBER_HEADER: Final = "number"
"""Names the record; all bytes of a record that is sent again are the same."""


class Fate(StrEnum):
    """What becomes of a record.

    A large one is a row once its stream takes long messages, and a dead letter before that.
    """

    ROW = "row"
    LARGE = "large"
    LETTER = "letter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record, as it is sent.

    Attributes:
        number: Of the record within its stream.
        partition: Where it is sent.
        key: Its Kafka key.
        value: Its value; None: a tombstone.
        headers: Its headers; the first one has its number.
        fate: What becomes of it.
        reason: Why it is a dead letter; `too_large` for a large one, None for a row.
        content: What it says, if it can be a row.
    """

    number: int
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    fate: Fate = Fate.ROW
    reason: str | None = None
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]:
        """Key, value and headers."""
        return self.key, self.value, self.headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A record at a place of its topic."""

    partition: int
    offset: int
    record: Record


class RecordSource:
    """Draws records; the same seed and the same calls give the same records."""

    def __init__(self, seed: int) -> None:
        """Begin."""
        self._random = random.Random(f"records {seed}")
        self.drawn: dict[str, list[Record]] = {stream: [] for stream in STREAMS}

    def draw(self, stream: str, count: int) -> list[Record]:
        """Return the next records of a stream; a few are ones that were sent before."""
        return [self._one(stream) for _ in range(count)]

    def _one(self, stream: str) -> Record:
        known = self.drawn[stream]
        if known and self._random.random() < _REPEATED:
            return self._random.choice(known)
        share = self._random.random()
        record = self._refused(stream) if share < _BAD else self._row(stream, share < _BAD + _LARGE)
        known.append(record)
        return record

    def _row(self, stream: str, is_large: bool) -> Record:
        content = self._content(stream)
        message = content | ({"padding": "x" * SMALL_BYTES} if is_large else {})
        return self._record(
            stream,
            key=str(content["id"]).encode(),
            value=json.dumps(message).encode(),
            partition=content["id"] % PARTITIONS,
            fate=Fate.LARGE if is_large else Fate.ROW,
            reason="too_large" if is_large else None,
            content=content,
        )

    def _content(self, stream: str) -> dict[str, Any]:
        drawn, number = self._random, len(self.drawn[stream])
        content: dict[str, Any] = {"id": drawn.randrange(KEYS)}
        if stream == SHIPPING:
            return content | {"carrier": f"carrier {number}"}
        if stream == PAYMENTS:
            return content | {"paid": drawn.randrange(1, 1_000_000)}
        # Late ones may have the version of another record: arrival then decides.
        late = drawn.randrange(_OLDER_MAX) if drawn.random() < _LATE else 0
        content["order_version"] = max(0, number - late)
        if drawn.random() < _DELETES:
            return content | {"op": "d"}
        return content | {"op": "c", "order_text": f"order {number}"}

    def _refused(self, stream: str) -> Record:
        kinds = self._refusals(stream)
        reason, value = kinds[self._random.randrange(len(kinds))]
        return self._record(
            stream,
            key=self._random.choice([b"\xff\x00 no text", b"", b"key"]),
            value=value,
            partition=self._random.randrange(PARTITIONS),
            fate=Fate.LETTER,
            reason=reason,
        )

    def _refusals(self, stream: str) -> Sequence[tuple[str, bytes | None]]:
        kinds = [
            ("malformed", b'{"id": 1, '),
            ("malformed", b"\xff\xfe\x00 no text"),
            ("malformed", b""),
            ("wrong_type", b'{"id": "one", "order_version": 1}'),
            ("missing_key", b'{"id": null, "order_version": 1}'),
            ("out_of_range", b'{"id": 99999999999999999999, "order_version": 1}'),
            ("tombstone", None),
        ]
        return [*kinds, ("null_ordering", b'{"id": 1, "op": "c"}')] if stream == ORDERS else kinds

    def _record(self, stream: str, **rest: Any) -> Record:
        number = len(self.drawn[stream])
        odd = (("odd", self._random.randbytes(4)), ("odd", b""))
        few = odd[: self._random.randrange(3)]
        return Record(number=number, headers=((NUMBER_HEADER, str(number).encode()), *few), **rest)
