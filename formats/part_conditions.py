"""Functions of conditions for the parts of a record other than its value: `header(type) = 'order'`.

| function | argument | compared with | read as |
|---|---|---|---|
| `header(name)` | the header's name, in quotes if necessary | as a field | as a field |
| `key()` | none | as a field | the whole Kafka key |
| `key(path)` | a field of the key, which is an object or a record | as a field | as a field |
| `timestamp()` | none | a text or a number | TIMESTAMP(3) WITH LOCAL TIME ZONE, or milliseconds since 1970 |
| `partition()`, `offset()` | none | a number | BIGINT |
| `topic()` | none | a text | STRING |

`parse_condition` parses a whole condition, whose comparisons use such functions or fields of the message.
"""

from collections.abc import Mapping
from typing import Final

from braid.lake import Comparison, DataType, LiteralKind, parse_comparisons, parse_type
from braid.schemas import ColumnSource

PARTS: Final[Mapping[str, ColumnSource]] = {
    source.value: source for source in ColumnSource if source is not ColumnSource.VALUE
}
"""The part by the name of its function."""

_MOMENT: Final = parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE")
_WHOLE_NUMBER: Final = parse_type("BIGINT")
_TEXT: Final = parse_type("STRING")
_TYPES: Final[Mapping[ColumnSource, Mapping[LiteralKind, DataType]]] = {
    ColumnSource.TIMESTAMP: {LiteralKind.TEXT: _MOMENT, LiteralKind.NUMBER: _WHOLE_NUMBER},
    ColumnSource.PARTITION: {LiteralKind.NUMBER: _WHOLE_NUMBER},
    ColumnSource.OFFSET: {LiteralKind.NUMBER: _WHOLE_NUMBER},
    ColumnSource.TOPIC: {LiteralKind.TEXT: _TEXT},
}
"""The type that a part is read as, by what it is compared with; the first one for a test of null."""


def parse_condition(text: str) -> tuple[Comparison, ...]:
    """Return the conjunction that a condition of a stream expresses.

    Raises:
        InvalidRequest: The text cannot be parsed; the problem names the place.
    """
    return parse_comparisons(text, functions=PARTS.keys())


def reads_parts(text: str) -> bool:
    """Return whether a condition is about another part of the record than its value.

    Raises:
        InvalidRequest: The text cannot be parsed.
    """
    return any(one.function is not None for one in parse_condition(text))


def source_of(comparison: Comparison) -> ColumnSource:
    """Return the part of the record that a comparison is about."""
    return ColumnSource.VALUE if comparison.function is None else PARTS[comparison.function]


def wrong_argument(comparison: Comparison) -> tuple[str, str] | None:
    """Return why a part has no such argument, and a hint; None: it has."""
    source, names = source_of(comparison), len(comparison.path)
    if source is ColumnSource.HEADER and names != 1:
        return "expected the name of one header", "write `header('the name')`"
    if names and not source.is_message and source is not ColumnSource.HEADER:
        name = comparison.function
        return f"the {name} of a record has no fields", f"write `{name}()`"
    return None


def types_of_part(source: ColumnSource) -> Mapping[LiteralKind, DataType] | None:
    """Return the types that a part is read as, by what it is compared with; None: those of fields."""
    return _TYPES.get(source)
