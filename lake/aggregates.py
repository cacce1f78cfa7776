"""The interface of custom aggregate functions; the format's own are in `lake/merge/functions`.

A package provides a `FunctionDeclaration` through the entry point group `braid.aggregates`. Its
`make` returns an `AggregateFunction`, which combines the values of one key one by one; its optional
`reduction` returns a `Reduction`, which combines the values of many keys at once, with equal
results.

| name | role |
|---|---|
| `FunctionDeclaration` | everything that the engine and the documentation need to know about a function |
| `FunctionOption` | an option `fields.<column>.<key>` that the function reads |
| `Compatibility` | how the function compares with the reference, for the documentation |
| `ColumnFunction` | the function as a column declares it, with its options |
| `AggregateFunction` | the protocol of the definition: `reset`, `aggregate`, `aggregate_late`, `retract` |
| `UnfitValue` | a value that writers or streams refuse: with it, merges of its key would fail or lose precision |
| `Reduction`, `Reduced` | the vectorised execution, and its result |
| `Steps`, `Step`, `Segments` | the input of a reduction: what happens to a column, key by key |
| `Pick`, `NO_ROW` | a result given as row numbers instead of values, and the number that means null |

The guide is `docs/guides/custom-aggregate-functions.md`.
"""

from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    Reduced,
    Reduction,
    UnfitValue,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.segments import Segments
from braid.lake.merge.selection import NO_ROW, Pick
from braid.lake.merge.steps import Step, Steps

__all__ = [
    "NO_ROW",
    "AggregateFunction",
    "ColumnFunction",
    "Compatibility",
    "FunctionDeclaration",
    "FunctionOption",
    "Pick",
    "Reduced",
    "Reduction",
    "Segments",
    "Step",
    "Steps",
    "UnfitValue",
]
