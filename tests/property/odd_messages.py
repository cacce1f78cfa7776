"""Messages as they come from anywhere: good ones, near misses of them, random JSON and random bytes."""

import json
import random
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from braid.lake import DataType, TypeRoot

_TEXTS: Final = (
    "",
    " ",
    "x",
    "é",
    "\U0001f600",
    "\x00",
    "a/b=c%",
    "null",
    "NaN",
    "1e400",
    "0",
    "-1",
    "+I",
    "-D",
    "x" * 300,
    "\ud800",
    "2026-13-45",
    "9999-12-31T23:59:59.999999999Z",
    "0000-01-01",
    "24:00:00",
)
_NUMBERS: Final = (0, -1, 127, 128, 2**31, 2**63, -(2**63) - 1, 10**40, 0.1, 1e308, -0.0, 1.5e-300)


def good_value(kind: DataType, source: random.Random) -> Any:
    """Return a JSON value that a column of a type takes, most of the time."""
    number = source.randrange(-100, 100)
    match kind.root:
        case TypeRoot.BOOLEAN:
            return source.random() < 0.5
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return number
        case TypeRoot.FLOAT | TypeRoot.DOUBLE | TypeRoot.DECIMAL:
            return number / 8
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return source.choice(["", "aGk=", "AA=="])
        case TypeRoot.DATE:
            return f"20{source.randrange(10, 99)}-01-02"
        case TypeRoot.TIME:
            return f"{source.randrange(24):02}:00:01"
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            zone = source.choice(["", "Z", "+02:00"])
            return f"20{source.randrange(10, 99)}-01-02T03:04:05{zone}"
        case TypeRoot.ARRAY:
            assert kind.element is not None
            return [good_value(kind.element, source) for _ in range(source.randrange(3))]
        case TypeRoot.MAP:
            assert kind.value is not None
            names = source.sample("abc", source.randrange(3))
            return {name: good_value(kind.value, source) for name in names}
        case TypeRoot.ROW:
            return {field.name: good_value(field.type, source) for field in kind.fields}
        case _:
            return source.choice(["+I", "-D", "a", "b"])


def odd_value(source: random.Random, depth: int = 2) -> Any:
    """Return any JSON value, extremes before others."""
    draws: list[Callable[[], Any]] = [
        lambda: None,
        lambda: source.random() < 0.5,
        lambda: source.choice(_NUMBERS),
        lambda: source.choice(_TEXTS),
        lambda: "".join(source.choices(string.printable, k=source.randrange(6))),
    ]
    if depth:
        draws.append(lambda: [odd_value(source, depth - 1) for _ in range(source.randrange(3))])
        draws.append(
            lambda: {
                source.choice(_TEXTS): odd_value(source, depth - 1)
                for _ in range(source.randrange(3))
            }
        )
    return source.choice(draws)()


def messages(
    columns: Mapping[str, DataType],
    *,
    count: int,
    source: random.Random,
    accepted: Mapping[str, Sequence[Any]] | None = None,
) -> list[bytes | None]:
    """Return messages of a stream, about a third of them good.

    Args:
        columns: Fields and their types.
        count: How many.
        source: Of all that is random.
        accepted: Good values of the fields whose type does not say what they are, such as sketches.
    """
    return [_message(columns, source, accepted or {}) for _ in range(count)]


def _message(
    columns: Mapping[str, DataType], source: random.Random, accepted: Mapping[str, Sequence[Any]]
) -> bytes | None:
    good = {
        name: source.choice(accepted[name]) if name in accepted else good_value(kind, source)
        for name, kind in columns.items()
    }
    match source.randrange(12):
        case 0:
            return source.choice([None, b"", b"null", b"[]", b"{}", b"{", b"\xff\xfe", b"1 2"])
        case 1:
            return source.randbytes(source.randrange(40))
        case 2:
            return _text(odd_value(source, 3))
        case 3:
            whole = _text(good)
            place = source.randrange(len(whole))
            return whole[:place] + source.randbytes(1) + whole[place + 1 :]
        case 4:
            return _text(good)[: source.randrange(1, 60)]
        case 5 | 6 | 7 | 8:
            for name in source.sample(sorted(good), min(len(good), source.randrange(1, 3))):
                good[name] = odd_value(source)
            return _text(good)
        case _:
            return _text(good)


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()
