"""Differences between the released Java library (1.4.2) and the version that this engine follows (2.0.0).

Tables that are exchanged with it are drawn without these things, and cases that 2.0.0 answered
judge them instead. Source: merge-semantics 10.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.property.declarations import Declaration
from tests.property.domains import Domain, without
from tests.property.function_columns import FUNCTION_COLUMNS, FunctionColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDifference:
    """One difference.

    Attributes:
        what: What 1.4.2 does, then what 2.0.0 does.
        left_out: What tables for 1.4.2 are drawn without.
        judged_by: Conformance cases that hold the answer of 2.0.0.
    """

    what: str
    left_out: str
    judged_by: tuple[str, ...]


DIFFERENCES: tuple[VersionDifference, ...] = (
    VersionDifference(
        what="sum and product of integers wrap around; they fail",
        left_out="integers whose sum or product overflows",
        judged_by=("F14-a-INT", "F14-c-BIGINT", "F15-r-TINYINT", "F15-0"),
    ),
    VersionDifference(
        what="listagg takes blank texts, and an empty one as the first; it passes them over",
        left_out="empty texts and texts of blanks under listagg",
        judged_by=("F25", "F31-a", "F31-b", "F32"),
    ),
    VersionDifference(
        what="nested_update and nested_partial_update take the first list as it is; they fold it",
        left_out="lists with a null, with a repeated key, or longer than the limit",
        judged_by=("F43", "F44", "F45", "R00321", "R00403"),
    ),
    VersionDifference(
        what="nested-sequence-field and nested-key-null-strategy are not known; they are",
        left_out="both options",
        judged_by=("F47", "F49", "F53-a", "F54-a", "F58-a", "F61-a", "F61-b"),
    ),
    VersionDifference(
        what="a descending sequence.field ascends in the write buffer; it descends",
        left_out="sequence.field.sort-order = descending",
        judged_by=("S02-descending-buf", "R00277"),
    ),
    VersionDifference(
        what="-0.0 equals 0.0 where FLOAT or DOUBLE order records; it is smaller",
        left_out="-0.0 and NaN in keys and ordering columns",
        judged_by=("X26",),
    ),
    VersionDifference(
        what="bytes in lists and maps are compared by identity, in both; we compare values",
        left_out="lists of bytes under collect",
        judged_by=("F71-a", "F81-a", "F83"),
    ),
    VersionDifference(
        what="collect cannot take back rows, lists or maps that were read from files, in both; we can",
        left_out="retracts of lists of nested elements, and nulls among them (distinct fails on those)",
        judged_by=("X18-row-buf", "X18-arr-buf", "X18-map-buf"),
    ),
    VersionDifference(
        what="a primary-key column in a sequence group is accepted; it is refused",
        left_out="nothing: our validator refuses it too",
        judged_by=("PE5", "PE6", "PE7", "E015", "E017"),
    ),
    VersionDifference(
        what="an option of a field inside a ROW is accepted; it is refused",
        left_out="nothing: our validator refuses it too",
        judged_by=("H04",),
    ),
    VersionDifference(
        what="sequence.snapshot-ordering is not known; it is",
        left_out="the option",
        judged_by=("H08-wo", "H08-sf"),
    ),
)

_ROWS_OF_KEYS = [
    [],
    [[1, "a", 10, 1]],
    [[1, "a", 11, 0], [2, "b", None, 2]],
    [[2, "b", 12, None], [3, "a", 1, 1]],
]


def released_functions() -> tuple[FunctionColumn, ...]:
    """Return the columns of aggregate functions that 1.4.2 folds as 2.0.0 does."""
    return tuple(map(_released, FUNCTION_COLUMNS))


def released(table: Declaration) -> Declaration:
    """Return the table without what 1.4.2 orders otherwise."""
    options = {k: v for k, v in table.options.items() if k != "sequence.field.sort-order"}
    ordering = {name for group in table.groups for name in group.ordering}
    ordering.update(table.key, table.sequence_fields)
    columns = {
        name: without(domain, -0.0, "NaN") if name in ordering else domain
        for name, domain in table.columns.items()
    }
    return replace(table, options=options, columns=columns)


def takes_retracts(table: Declaration) -> bool:
    """Return whether 1.4.2 takes back what the table's functions have collected."""
    return not any(
        function.name == "collect"
        and not isinstance(table.columns[name][0]["element"], str)  # type: ignore[index] # ARRAY
        and table.options.get(f"fields.{name}.ignore-retract") != "true"
        for name, function in table.functions.items()
    )


def _released(function: FunctionColumn) -> FunctionColumn:
    match function.name:
        case "sum":
            return replace(function, domains=[*function.exact, *_not_integers(function)])
        case "product":
            return replace(function, domains=[*function.exact, *_not_integers(function)])
        case "listagg":
            kind, words = function.domains[0]
            return replace(function, domains=[(kind, [word for word in words if word.strip()])])
        case "nested_update" | "nested_partial_update":
            keyed = ({"nested-key": "id"}, {"nested-key": "id, part"})
            options = keyed if function.name == "nested_partial_update" else ({}, *keyed)
            kind = function.domains[0][0]
            return replace(function, domains=[(kind, _ROWS_OF_KEYS)], options=options)
        case "collect":
            return replace(function, domains=_without_nulls_among_nested(function))
        case _:
            return function


def _without_nulls_among_nested(function: FunctionColumn) -> Sequence[Domain]:
    """Return the domains of `collect`, lists of bytes left out."""
    domains: list[Domain] = []
    for kind, lists in function.domains:
        element = kind["element"]  # type: ignore[index] # collect takes arrays
        if element == "BYTES":
            continue
        is_atomic = isinstance(element, str)
        domains.append((kind, [found for found in lists if is_atomic or None not in found]))
    return domains


def _not_integers(function: FunctionColumn) -> Sequence[Domain]:
    integers = ("TINYINT", "SMALLINT", "INT", "BIGINT")
    return [domain for domain in function.domains if domain[0] not in integers]
