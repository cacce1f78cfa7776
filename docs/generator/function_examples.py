"""Worked examples of the aggregate functions, for their pages.

Every table has a key, a column `v` with the function, and a column `version` that orders `v` in a
sequence group, so that a record can be late.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from docs.generator import serialised_sets as sets
from docs.generator.worked_examples import WorkedExample

KEY = 1
ADD, RETRACT = "+I", "-U"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionExample:
    """Values of one column, in order of arrival.

    Attributes:
        title: What the example shows; empty for the ordinary case.
        type: SQL type of the column.
        values: Kind, version and value of each record.
        options: Options of the column, without the prefix `fields.v.`.
        as_text: The text of a value that is bytes.
    """

    title: str = ""
    type: str
    values: tuple[tuple[str, int, object], ...]
    options: Mapping[str, str] = field(default_factory=dict)
    as_text: Callable[[object], str] | None = None

    def worked(self, function: str) -> WorkedExample:
        """Return the table of the example."""
        named = {"aggregate-function": function, **self.options}
        return WorkedExample(
            title=self.title,
            columns={"id": "INT", "version": "INT", "v": self.type},
            options={
                "merge-engine": "partial-update",
                "fields.version.sequence-group": "v",
                **{f"fields.v.{key}": value for key, value in named.items()},
            },
            records=[(kind, KEY, version, value) for kind, version, value in self.values],
            shown=("version", "v"),
            as_text=self.as_text,
        )


def _extreme() -> tuple[FunctionExample, ...]:
    return (
        FunctionExample(type="INT", values=((ADD, 1, 5), (ADD, 3, 9), (ADD, 2, 2), (ADD, 4, None))),
    )


def _position(*, retracts: bool) -> tuple[FunctionExample, ...]:
    values = ((ADD, 2, "two"), (ADD, 3, None), (ADD, 4, "four"), (ADD, 1, "one"))
    taken = ((RETRACT, 5, "four"),) if retracts else ()
    return (FunctionExample(type="STRING", values=(*values, *taken)),)


def _truth() -> tuple[FunctionExample, ...]:
    values = ((ADD, 1, True), (ADD, 3, None), (ADD, 2, False), (ADD, 4, True))
    return (FunctionExample(type="BOOLEAN", values=values),)


_ROWS = "ARRAY<ROW<line INT, item STRING, amount INT>>"
_TIMED = "MAP<STRING, ROW<state STRING, at STRING>>"


def _line(line: int, item: str | None, amount: int | None) -> dict[str, object]:
    return {"line": line, "item": item, "amount": amount}


def _state(state: str, at: str) -> dict[str, str]:
    return {"state": state, "at": at}


EXAMPLES: Mapping[str, tuple[FunctionExample, ...]] = {
    "sum": (
        FunctionExample(
            type="BIGINT",
            values=((ADD, 1, 5), (ADD, 3, 7), (ADD, 2, 1), (ADD, 4, None), (RETRACT, 5, 7)),
        ),
        FunctionExample(
            title="DECIMAL(5, 2): more digits than declared",
            type="DECIMAL(5, 2)",
            values=((ADD, 1, Decimal("999.99")), (ADD, 2, Decimal("0.01"))),
        ),
    ),
    "product": (
        FunctionExample(
            type="BIGINT",
            values=((ADD, 1, 5), (ADD, 3, 4), (ADD, 2, 2), (ADD, 4, None), (RETRACT, 5, 4)),
        ),
    ),
    "max": _extreme(),
    "min": _extreme(),
    "last_value": _position(retracts=True),
    "last_non_null_value": _position(retracts=True),
    "first_value": _position(retracts=False),
    "first_non_null_value": _position(retracts=False),
    "bool_and": _truth(),
    "bool_or": _truth(),
    "listagg": (
        FunctionExample(
            type="STRING", values=((ADD, 1, "a"), (ADD, 3, "b"), (ADD, 2, "a"), (ADD, 4, " "))
        ),
        FunctionExample(
            title="Each token once, another delimiter",
            type="STRING",
            values=((ADD, 1, "a;b"), (ADD, 2, "b;c")),
            options={"distinct": "true", "list-agg-delimiter": ";"},
        ),
    ),
    "collect": (
        FunctionExample(
            type="ARRAY<INT>",
            values=((ADD, 1, [1, 2]), (ADD, 3, [3]), (ADD, 2, [1]), (RETRACT, 4, [1])),
        ),
        FunctionExample(
            title="Each element once",
            type="ARRAY<INT>",
            values=((ADD, 1, [1, 2]), (ADD, 2, [2, 3])),
            options={"distinct": "true"},
        ),
    ),
    "merge_map": (
        FunctionExample(
            type="MAP<STRING, INT>",
            values=(
                (ADD, 1, [("a", 1)]),
                (ADD, 3, [("a", 2), ("b", 2)]),
                (ADD, 2, [("b", 9), ("c", 9)]),
                (RETRACT, 4, [("a", 1)]),
            ),
        ),
    ),
    "merge_map_with_keytime": (
        FunctionExample(
            type=_TIMED,
            values=(
                (ADD, 1, [("tv", _state("on", "10:00"))]),
                (ADD, 2, [("tv", _state("off", "09:00")), ("lamp", _state("on", "10:05"))]),
                (ADD, 3, [("tv", None)]),
            ),
        ),
    ),
    "nested_update": (
        FunctionExample(
            title="Rows identified by `line`",
            type=_ROWS,
            values=(
                (ADD, 1, [_line(1, "tea", 2)]),
                (ADD, 3, [_line(1, "tea", 3), _line(2, "pot", 1)]),
                (ADD, 2, [_line(2, "cup", 6), _line(3, "mug", 1)]),
                (RETRACT, 4, [_line(1, None, None)]),
            ),
            options={"nested-key": "line"},
        ),
        FunctionExample(
            title="Rows appended",
            type=_ROWS,
            values=((ADD, 1, [_line(1, "tea", 2)]), (ADD, 2, [_line(1, "tea", 2)])),
        ),
    ),
    "nested_partial_update": (
        FunctionExample(
            type=_ROWS,
            values=(
                (ADD, 1, [_line(1, "tea", None)]),
                (ADD, 3, [_line(1, None, 3), _line(2, "pot", 1)]),
                (ADD, 2, [_line(1, "cup", 9)]),
            ),
            options={"nested-key": "line"},
        ),
    ),
    "rbm32": (
        FunctionExample(
            type="BYTES",
            values=((ADD, 1, sets.bitmap_32(2, 3)), (ADD, 2, sets.bitmap_32(1, 3))),
            as_text=sets.bitmap_32_text,
        ),
    ),
    "rbm64": (
        FunctionExample(
            type="BYTES",
            values=((ADD, 1, sets.bitmap_64("{2, 3}")), (ADD, 2, sets.bitmap_64("{1}"))),
            as_text=sets.bitmap_64_text,
        ),
    ),
    "hll_sketch": (
        FunctionExample(
            type="BYTES",
            values=((ADD, 1, sets.hll("ann", "bob")), (ADD, 2, sets.hll("bob", "eve"))),
            as_text=sets.hll_text,
        ),
    ),
    "theta_sketch": (
        FunctionExample(
            type="BYTES",
            values=((ADD, 1, sets.theta("ann", "bob")), (ADD, 2, sets.theta("bob", "eve"))),
            as_text=sets.theta_text,
        ),
    ),
}
"""Examples by function; a test fails for a function without one."""
