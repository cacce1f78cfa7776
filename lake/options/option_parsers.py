"""Parsers of option values, from the text in a schema to a typed value.

Blanks are accepted where the reference accepts them: sizes, durations, ratios, values per level and most lists of
names are trimmed, everything else is not. Limits are stricter than the reference's where a value could do harm: for
example, a directory may not lead out of the table's own directory.

Source: merge-semantics 9.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

ValueT_co = TypeVar("ValueT_co", covariant=True)
EnumT = TypeVar("EnumT", bound=StrEnum)

INT_MAX: Final = 2_147_483_647
LONG_MAX: Final = (1 << 63) - 1
# Longest name that file systems accept; a prefix has to leave room for a UUID, a number and a suffix.
_NAME_BYTES_MAX: Final = 255
_NAME_PREFIX_BYTES_MAX: Final = 100

_SIZE_UNITS: Final = {
    "": 1, "b": 1, "bytes": 1,
    "k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10,
    "m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20,
    "g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30,
    "t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40,
}  # fmt: skip
# Units in nanoseconds, so that the smallest one is a whole number.
_TIME_UNITS: Final = {
    **dict.fromkeys(["ns", "nano", "nanos", "nanosecond", "nanoseconds"], 1),
    **dict.fromkeys(["us", "µs", "micro", "micros", "microsecond", "microseconds"], 10**3),
    **dict.fromkeys(["", "ms", "milli", "millis", "millisecond", "milliseconds"], 10**6),
    **dict.fromkeys(["s", "sec", "secs", "second", "seconds"], 10**9),
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes"], 60 * 10**9),
    **dict.fromkeys(["h", "hour", "hours"], 3600 * 10**9),
    **dict.fromkeys(["d", "day", "days"], 86_400 * 10**9),
}
# Every number of an option fits into 19 digits; Python refuses to convert texts of more than 4,300.
_QUANTITY: Final = re.compile(r"\s*(\d{1,30})\s*(?:([^\W\d]+)\s*)?")
_INTEGER: Final = re.compile(r"[+-]?\d{1,30}")
_RATIO: Final = re.compile(r"\s*\+?\d{1,30}(\.\d{0,30})?\s*")
_LEVEL: Final = re.compile(r"\s*(\d{1,30})\s*:\s*([^\s:]+)\s*")
# Units in which defaults are shown, the largest first.
_SHOWN_SIZES: Final = {"gb": 1 << 30, "mb": 1 << 20, "kb": 1 << 10, "b": 1}
_SHOWN_TIMES: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1_000, "ms": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser(Generic[ValueT_co]):
    """A kind of option value.

    Attributes:
        parse: Returns the value of an option's text; None when the text is not valid.
        expected: Description of valid texts, worded to follow "expected" in a message.
        show: Returns the text that a person would write for a value.
    """

    parse: Callable[[str], ValueT_co | None]
    expected: str
    show: Callable[[Any], str] = str


def parse_size(text: str) -> int | None:
    """Return the bytes of `128 MB`, `8mb` or `1024`; None for other texts."""
    return _parse_quantity(text, _SIZE_UNITS)


def parse_duration(text: str) -> int | None:
    """Return the milliseconds of `1 h`, `10s` or `500`, rounded down; None for other texts."""
    nanoseconds = _parse_quantity(text, _TIME_UNITS)
    return None if nanoseconds is None else nanoseconds // 10**6


def parse_integer(text: str) -> int | None:
    """Return the whole number of `12` or `-1`; None for other texts, and for a number with blanks around it."""
    return int(text) if _INTEGER.fullmatch(text) else None


def whole_number(*, low: int = -INT_MAX, high: int = INT_MAX) -> Parser[int]:
    """Return the parser of whole numbers from `low` to `high`."""

    def parse(text: str) -> int | None:
        number = parse_integer(text)
        return number if number is not None and low <= number <= high else None

    limits = {-INT_MAX: ""}.get(low, f" from {low}") + {INT_MAX: ""}.get(high, f" to {high}")
    return Parser(parse=parse, expected=f"a whole number{limits}")


def bucket_count(*, lowest: int) -> Parser[int]:
    """Return the parser of a table's number of buckets.

    Args:
        lowest: The lowest negative number that is valid; each stands for a kind of bucketing.
    """

    def parse(text: str) -> int | None:
        number = parse_integer(text)
        is_valid = number is not None and lowest <= number <= INT_MAX and number != 0
        return number if is_valid else None

    return Parser(
        parse=parse, expected=f"a bucket count from 1 to {INT_MAX}, or -1 for dynamic buckets"
    )


def choice(members: type[EnumT], *, aliases: Mapping[str, str] | None = None) -> Parser[EnumT]:
    """Return the parser of the words of an enumeration, in any case.

    Args:
        members: The enumeration; its values are the words.
        aliases: The word that each further spelling stands for.
    """
    by_name = {str(member): member for member in members}
    spellings = {**{name: name for name in by_name}, **(aliases or {})}

    def parse(text: str) -> EnumT | None:
        return by_name.get(spellings.get(text.lower(), ""))

    return Parser(parse=parse, expected=f"one of {', '.join(by_name)}")


def names(*, strip: bool = True) -> Parser[tuple[str, ...]]:
    """Return the parser of names that are joined by commas; empty ones are dropped.

    Args:
        strip: Whether blanks around a name are removed. Java trims the names of some lists and not
            of others, and a blank can be part of a column's name.
    """

    def parse(text: str) -> tuple[str, ...]:
        found = (name.strip() if strip else name for name in text.split(","))
        return tuple(filter(None, found))

    blanks = "" if strip else " without blanks"
    return Parser(parse=parse, expected=f"names, joined by commas{blanks}", show=",".join)


def per_level(example: str) -> Parser[tuple[tuple[int, str], ...]]:
    """Return the parser of lists of pairs of a level and a word; the result ascends by level."""
    return Parser(
        parse=_parse_per_level,
        expected=f"one value for each level, such as `{example}`, and no level twice",
        show=lambda pairs: ",".join(f"{level}:{word}" for level, word in pairs),
    )


def _parse_quantity(text: str, units: Mapping[str, int]) -> int | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    factor = units.get((match.group(2) or "").lower())
    return None if factor is None else int(match.group(1)) * factor


def _show_quantity(value: int, units: Mapping[str, int]) -> str:
    unit = next(unit for unit, factor in units.items() if value % factor == 0)
    return f"{value // units[unit]} {unit}"


def _parse_flag(text: str) -> bool | None:
    # Any case, but no blanks around the word: the reference trims only sizes, times and names.
    return {"true": True, "false": False}.get(text.lower())


def _parse_bucket_bound(text: str) -> int | None:
    number = parse_integer(text)
    is_valid = number is not None and (number == -1 or 0 < number <= INT_MAX)
    return number if is_valid else None


def _parse_ratio(text: str) -> float | None:
    return float(text) if _RATIO.fullmatch(text) else None


def _parse_name_prefix(text: str) -> str | None:
    is_name = "/" not in text and "\0" not in text
    return text if is_name and _fits_bytes(text, _NAME_PREFIX_BYTES_MAX) else None


def _parse_directory(text: str) -> str | None:
    """Return the path, or None if it could lead out of the table's directory."""
    parts = text.removesuffix("/").split("/")
    is_inside = all(
        name not in ("", ".", "..") and "\0" not in name and _fits_bytes(name, _NAME_BYTES_MAX)
        for name in parts
    )
    return text if is_inside else None


def _parse_per_level(text: str) -> tuple[tuple[int, str], ...] | None:
    """Return levels and words in lower case, ascending by level; None for other texts."""
    pairs = [_LEVEL.fullmatch(part) for part in text.split(",")]
    found = sorted((int(pair.group(1)), pair.group(2).lower()) for pair in pairs if pair)
    is_whole = len(found) == len(pairs) and len(dict(found)) == len(found)
    return tuple(found) if is_whole else None


def _fits_bytes(text: str, limit: int) -> bool:
    return len(text.encode(errors="surrogatepass")) <= limit


TEXT: Final[Parser[str]] = Parser(parse=str, expected="a text")
LOWER_CASE: Final[Parser[str]] = Parser(parse=str.lower, expected="a name, in any case")
FLAG: Final[Parser[bool]] = Parser(
    parse=_parse_flag, expected="true or false", show=lambda value: str(value).lower()
)
SIZE: Final[Parser[int]] = Parser(
    parse=parse_size,
    expected="a size such as `128 mb`",
    show=lambda value: _show_quantity(value, _SHOWN_SIZES),
)
DURATION: Final[Parser[int]] = Parser(
    parse=parse_duration,
    expected="a duration such as `10 s`",
    show=lambda value: _show_quantity(value, _SHOWN_TIMES),
)
RATIO: Final[Parser[float]] = Parser(parse=_parse_ratio, expected="a number from 0")
UNBOUNDED_INTEGER: Final[Parser[int]] = Parser(parse=parse_integer, expected="a whole number")
IS_DESCENDING: Final[Parser[bool]] = Parser(
    parse=lambda text: {"ascending": False, "descending": True}.get(text.lower()),
    expected="ascending or descending",
    show=lambda value: "descending" if value else "ascending",
)
BUCKET_BOUND: Final[Parser[int]] = Parser(
    parse=_parse_bucket_bound, expected="a number of buckets from 1, or -1 for no bound"
)
NAME_PREFIX: Final[Parser[str]] = Parser(
    parse=_parse_name_prefix,
    expected=f"the start of a file's name of at most {_NAME_PREFIX_BYTES_MAX} bytes, "
    "without `/` and NUL",
)
DIRECTORY: Final[Parser[str]] = Parser(
    parse=_parse_directory,
    expected="a directory below the table's own, such as `data`: a relative path without NUL and "
    f"without parts `.` or `..`, each part of at most {_NAME_BYTES_MAX} bytes",
)
