"""Range of primary keys, and the conditions that choose its keys.

A bound names values of the first columns of the key, and stands for the place of these values among all keys. To compare several
columns is no conjunction of comparisons, but every range is a sequence of parts that are. For the keys (year, month) from (2013, 3) on:

    year = 2013 AND month >= 3,  then  year > 2013

The parts have no key in common and are in the order of keys. So a scan of one part after the other yields the keys in order, and
the plan of each scan leaves out the files and row groups of all other keys.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.data_types import TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.read.predicate import Condition, Operator, bind_conditions, matching_rows

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_SURROGATES: Final = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """The keys that fulfil all attributes; by default every key.

    Attributes:
        prefix: Values of the first columns of the key.
        starts_with: What the text of the key's next column after `prefix` begins with; None: anything.
        first: The first columns of the smallest keys, by name; empty: no lower bound.
        before: The first columns of the smallest keys above the range; empty: no upper bound.
        after: A whole key, below all keys of the range; empty: no such bound.

    Example:
        >>> KeyRange(prefix={"year": 2013}, starts_with="A").first
        {}
    """

    prefix: Mapping[str, object] = field(default_factory=dict)
    starts_with: str | None = None
    first: Mapping[str, object] = field(default_factory=dict)
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)

    def parts(self, schema: TableSchema) -> list[tuple[Condition, ...]]:
        """Return the parts of the range, ascending and without a common key; each is a conjunction.

        Raises:
            InvalidRequest: A bound does not have the first columns of the primary key, a value is not of its column's
                type, or `starts_with` has no column of text.
        """
        fixed = [
            Condition(column=name, op=Operator.EQUAL, value=self._ordered("prefix", schema)[name])
            for name in self.prefix
        ]
        parts: list[tuple[Condition, ...]] = [(*fixed, *self._beginning(schema))]
        bounds = (
            _from(self._ordered("first", schema), Operator.GREATER_OR_EQUAL),
            _from(self._ordered("after", schema), Operator.GREATER),
            _until(self._ordered("before", schema)),
        )
        for bound in bounds:
            # Both sequences ascend, so the pairs in this order do.
            parts = [(*part, *other) for part in parts for other in bound]
            parts = [part for part in parts if _may_hold(part, schema)]
        return parts

    def _ordered(self, name: str, schema: TableSchema) -> dict[str, object]:
        """Return the values of a bound in the order of the key."""
        values: Mapping[str, object] = getattr(self, name)
        expected = schema.primary_keys[: len(values)]
        if set(values) != set(expected):
            problem = Problem(
                field=name,
                value=", ".join(values),
                message="expected the first columns of the primary key, without a gap",
                hint=f"the primary key is: {', '.join(schema.primary_keys)}",
            )
            message = "the range of keys is invalid"
            raise InvalidRequest(message, problems=[problem])
        return {column: values[column] for column in expected}

    def _beginning(self, schema: TableSchema) -> list[Condition]:
        """Return the conditions of `starts_with`."""
        if self.starts_with is None:
            return []
        following = schema.primary_keys[len(self.prefix) : len(self.prefix) + 1]
        if not following or schema.field(following[0]).type.root not in _TEXTS:
            found = schema.field(following[0]).type if following else "no column"
            problem = Problem(
                field="starts_with",
                value=self.starts_with,
                message=f"expected a column of text as the key's next one after `prefix`, found {found}",
                hint=f"the primary key is: {', '.join(schema.primary_keys)}",
            )
            message = "the range of keys is invalid"
            raise InvalidRequest(message, problems=[problem])
        (column,) = following
        from_text = Condition(column=column, op=Operator.GREATER_OR_EQUAL, value=self.starts_with)
        end = text_after(self.starts_with)
        if end is None:
            return [from_text]
        return [from_text, Condition(column=column, op=Operator.LESS, value=end)]


EVERY_KEY: Final = KeyRange()


def text_after(prefix: str) -> str | None:
    r"""Return the smallest text above all that begin with a prefix; None if there is none.

    >>> text_after("ab"), text_after("a\U0010ffff"), text_after("")
    ('ac', 'b', None)
    """
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    # Surrogates are no characters of UTF-8.
    return kept[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def _from(values: Mapping[str, object], last: Operator) -> list[tuple[Condition, ...]]:
    """Return the keys from some values on, the largest common beginning first."""
    names = list(values)
    if not names:
        return [()]
    return [
        (
            *_equal(values, names[:length]),
            Condition(
                column=names[length],
                op=last if length == len(names) - 1 else Operator.GREATER,
                value=values[names[length]],
            ),
        )
        for length in reversed(range(len(names)))
    ]


def _until(values: Mapping[str, object]) -> list[tuple[Condition, ...]]:
    """Return the keys before some values, the smallest common beginning first."""
    names = list(values)
    if not names:
        return [()]
    return [
        (
            *_equal(values, names[:length]),
            Condition(column=names[length], op=Operator.LESS, value=values[names[length]]),
        )
        for length in range(len(names))
    ]


def _equal(values: Mapping[str, object], names: Sequence[str]) -> list[Condition]:
    return [Condition(column=name, op=Operator.EQUAL, value=values[name]) for name in names]


def _may_hold(part: Sequence[Condition], schema: TableSchema) -> bool:
    """Return False if a column has to equal a value that another condition on it excludes."""
    conditions = bind_conditions(part, schema)
    for equal in conditions:
        if equal.op is Operator.EQUAL:
            others = [other for other in conditions if other.column == equal.column]
            holds = matching_rows({equal.column: equal.values}, others)
            if holds is None or not holds[0].as_py():
                return False
    return True
