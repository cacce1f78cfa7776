r"""Patterns of dates and times, a part of those of Java's `DateTimeFormatter`.

| letters | text |
|---|---|
| `yyyy`, `uuuu` | year in 4 digits |
| `yy` | the years 2000 to 2099 in 2 digits |
| `MM`, `M` | month in 2 digits; in 1 or 2 |
| `MMM`, `MMMM` | English name of the month, short (`Jan`) or full, in any case |
| `dd`, `d` | day of the month in 2 digits; in 1 or 2 |
| `EEE`, `EEEE` | English name of the weekday, short or full, in any case; it is not compared with the date |
| `HH`, `H` | hour 0 to 23 in 2 digits; in 1 or 2 |
| `hh`, `h`, `a` | hour 1 to 12 in 2 digits; in 1 or 2; with `AM` or `PM`, in any case |
| `mm`, `m`, `ss`, `s` | minute; second |
| `S` to `SSSSSSSSS` | so many digits of the fraction of the second |
| `X`, `XX`, `XXX` | offset from UTC: `Z`, or `+02` (also `+0200`), `+0200`, `+02:00` |
| `Z` | the same, `+0200` |
| `[`, `]` | what is between them may be missing |
| `'at'`, `''` | itself; a quote |

Every other letter from A to Z has to be in quotes. A pattern is compiled to a regular expression that rewrites texts to
ISO 8601, which `formats.times` then reads.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HALVES: Final = ("am", "pm")
_MONTH_NUMBERS: Final = {
    name: f"{number:02d}"
    for number, full in enumerate(_MONTHS, start=1)
    for name in (full, full[:3])
}
_HOURS: Final = {
    f"{shown}{_HALVES[hour // 12]}": f"{hour:02d}"
    for hour in range(24)
    for shown in (str(hour % 12 or 12), f"{hour % 12 or 12:02d}")
}
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|(.)", re.DOTALL)
_TWO, _ONE_OR_TWO = r"\d\d", r"\d\d?"


def _any_case(names: Iterator[str]) -> str:
    """Return a regular expression for names in any case."""
    # A flag for any case would also find letters beyond ASCII, and not the same ones in both libraries.
    return "|".join("".join(f"[{c.upper()}{c}]" for c in name) for name in names)


_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "yyyy": ("year", r"\d\d\d\d"),
    "uuuu": ("year", r"\d\d\d\d"),
    "yy": ("short_year", _TWO),
    "MM": ("month", _TWO),
    "M": ("month", _ONE_OR_TWO),
    "MMM": ("month_name", _any_case(name[:3] for name in _MONTHS)),
    "MMMM": ("month_name", _any_case(iter(_MONTHS))),
    "dd": ("day", _TWO),
    "d": ("day", _ONE_OR_TWO),
    "EEE": ("weekday", _any_case(name[:3] for name in _DAYS)),
    "EEEE": ("weekday", _any_case(iter(_DAYS))),
    "HH": ("hour", _TWO),
    "H": ("hour", _ONE_OR_TWO),
    "hh": ("short_hour", _TWO),
    "h": ("short_hour", _ONE_OR_TWO),
    "a": ("half", _any_case(iter(_HALVES))),
    "mm": ("minute", _TWO),
    "m": ("minute", _ONE_OR_TWO),
    "ss": ("second", _TWO),
    "s": ("second", _ONE_OR_TWO),
    **{"S" * count: ("fraction", rf"\d{{{count}}}") for count in range(1, 10)},
    "X": ("zone", r"Z|[+-]\d\d(?:\d\d)?"),
    "XX": ("zone", r"Z|[+-]\d\d\d\d"),
    "XXX": ("zone", r"Z|[+-]\d\d:\d\d"),
    "Z": ("zone", r"[+-]\d\d\d\d"),
}
"""By letters: the name of the part, and a regular expression of its texts."""
_NEED: Final = {
    "half": "short_hour",
    "short_hour": "half",
    "second": "minute",
    "fraction": "second",
}
_ALTERNATIVES: Final = (("year", "short_year"), ("month", "month_name"), ("hour", "short_hour"))
_WORDS: Final = {
    "short_year": "year",
    "month_name": "month",
    "short_hour": "hour from 1 to 12",
    "half": "AM or PM",
    "zone": "offset from UTC",
}
_MIDNIGHT: Final = "00:00"


@dataclass(frozen=True, slots=True)
class _Read:
    """A pattern as a regular expression.

    Attributes:
        expression: Its groups are named by the parts.
        parts: The parts that it names.
        certain: Those of them that every text has.
    """

    expression: str
    parts: frozenset[str]
    certain: frozenset[str]


class TimePattern:
    """A pattern."""

    def __init__(self, text: str) -> None:
        """Read a pattern.

        Args:
            text: The pattern as declared.

        Raises:
            ValueError: It is none; the message says why.
        """
        self._read = found = _read(text)
        for part, needed in _NEED.items():
            if part in found.parts and needed not in found.parts:
                message = f"the pattern has no {_WORDS.get(needed, needed)}, which the {_WORDS.get(part, part)} needs"
                raise ValueError(message)
        for names in _ALTERNATIVES:
            if found.parts.issuperset(names):
                message = f"the {names[0]} occurs twice"
                raise ValueError(message)
        if "minute" in found.parts and not self.has_hour:
            message = "the pattern has no hour, which the minute needs"
            raise ValueError(message)
        if self.has_zone and not self.has_hour:
            message = "the pattern has no hour, which the offset from UTC needs"
            raise ValueError(message)

    @property
    def has_whole_date(self) -> bool:
        """Whether every text has year, month and day."""
        certain = self._read.certain
        has_year, has_month = certain & {"year", "short_year"}, certain & {"month", "month_name"}
        return bool(has_year and has_month and "day" in certain)

    @property
    def has_part_of_date(self) -> bool:
        """Whether texts have a year, month or day."""
        dates = {"year", "short_year", "month", "month_name", "day", "weekday"}
        return bool(self._read.parts & dates)

    @property
    def has_hour(self) -> bool:
        """Whether texts have an hour; it may be in brackets."""
        return bool(self._read.parts & {"hour", "short_hour"})

    @property
    def always_has_hour(self) -> bool:
        """Whether every text has an hour."""
        return bool(self._read.certain & {"hour", "short_hour"})

    @property
    def has_zone(self) -> bool:
        """Whether texts have an offset from UTC; it may be in brackets."""
        return "zone" in self._read.parts

    @property
    def always_has_zone(self) -> bool:
        """Whether every text has an offset from UTC."""
        return "zone" in self._read.certain

    def iso_texts(self, texts: pa.StringArray, *, has_date: bool, has_time: bool) -> pa.StringArray:
        """Return texts as ISO 8601, null where a text is null or not of the pattern.

        A result may denote nothing, such as 30 February.

        Args:
            texts: The texts.
            has_date: Whether the results begin with the date.
            has_time: Whether the results have the time of the day; behind a date also its offset, if any.
        """
        # Without a group Arrow returns nothing that tells which texts fit.
        found = pc.extract_regex(texts, f"^(?P<whole>{self._read.expression})$")
        parts = {name: pc.struct_field(found, name) for name in self._read.parts}
        date, time = _date(parts), _time(parts) if self.has_hour else _MIDNIGHT
        if not has_time:
            return date
        if not has_date:
            return time
        return _join(date, "T", time, parts.get("zone", ""))


def _date(parts: Mapping[str, pa.Array]) -> pa.Array | None:
    if "day" not in parts:
        return None
    year = parts["year"] if "year" in parts else _join("20", parts["short_year"])
    month = (
        _two_digits(parts["month"])
        if "month" in parts
        else _looked_up(pc.ascii_lower(parts["month_name"]), _MONTH_NUMBERS)
    )
    return _join(year, "-", month, "-", _two_digits(parts["day"]))


def _time(parts: Mapping[str, pa.Array]) -> pa.Array:
    hour = (
        _two_digits(parts["hour"])
        if "hour" in parts
        else _looked_up(_join(parts["short_hour"], pc.ascii_lower(parts["half"])), _HOURS)
    )
    minute = _two_digits(parts["minute"]) if "minute" in parts else "00"
    second = _two_digits(parts["second"]) if "second" in parts else "00"
    fraction = parts.get("fraction")
    if fraction is None:
        return _join(hour, ":", minute, ":", second)
    point = pc.if_else(pc.equal(fraction, ""), "", ".")
    return _join(hour, ":", minute, ":", second, point, fraction)


def _two_digits(texts: pa.Array) -> pa.Array:
    """Return numbers of 1 or 2 digits in two; what a text does not have, because it is in brackets, is 00."""
    return pc.ascii_lpad(texts, 2, "0")


def _looked_up(names: pa.Array, values: Mapping[str, str]) -> pa.Array:
    """Return the values of names, null for one that has none; `00` for a name that a text does not have."""
    known = {**values, "": "00"}
    places = pc.index_in(names, value_set=pa.array([*known]))
    return pa.array([*known.values()]).take(places)


def _join(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _read(pattern: str) -> _Read:
    expression, parts, certain = [], list[str](), set[str]()
    is_optional, before = False, ""
    for token in _TOKEN.finditer(pattern):
        quoted, letters, _, other = token.groups()
        after = ""
        if quoted is not None:
            expression.append(_literal(quoted.replace("''", "'") or "'"))
        elif letters is not None:
            name, part = _part(letters)
            if name in parts:
                message = f"the {_WORDS.get(name, name)} occurs twice"
                raise ValueError(message)
            if before == _ONE_OR_TWO and part.startswith(r"\d"):
                message = f"`{letters}` follows a number of 1 or 2 digits with nothing in between"
                raise ValueError(message)
            parts.append(name)
            if not is_optional:
                certain.add(name)
            expression.append(f"(?P<{name}>{part})")
            after = part
        elif other in "[]":
            if (other == "[") is is_optional:
                message = "brackets cannot be nested" if is_optional else "`]` has no `[`"
                raise ValueError(message)
            is_optional = not is_optional
            expression.append("(?:" if is_optional else ")?")
            after = before
        elif other == "'":
            message = "a quote is not closed"
            raise ValueError(message)
        else:
            expression.append(_literal(other))
        before = after
    if is_optional:
        message = "`[` has no `]`"
        raise ValueError(message)
    return _Read("".join(expression), frozenset(parts), frozenset(certain))


def _part(letters: str) -> tuple[str, str]:
    known = _PARTS.get(letters)
    if known is None:
        message = f"`{letters}` has no meaning; put texts into quotes: `'{letters}'`"
        raise ValueError(message)
    return known


def _literal(text: str) -> str:
    if not text.isprintable():
        message = "the pattern contains a character that is not printable"
        raise ValueError(message)
    return re.escape(text)
