"""Interfaces of aggregate functions: the definition, the vectorised execution, and the declaration.

Each function has one definition, `AggregateFunction`, which combines one value after the other. It may have a second
execution, `Reduction`, which combines all values of many keys at once with equal results. A reduction may leave
single keys to the definition. The definition gets and returns values in the form that `plain_values` gives them, null
as None; a reduction works on Arrow arrays.

Source: merge-semantics 4.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import Problem
from braid.lake.format.data_types import DataField, DataType
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.selection import Pick
from braid.lake.merge.steps import Step, Steps


class AggregateFunction(Protocol):
    """The definition: folds the values of one column, key by key.

    For each key `reset` is called first, then one of the other methods for each record that acts on the
    column, in merge order, with the accumulated value: that of the previous call, or that of a record which
    was copied without a call since (`Step.SEED`). Every method may raise SchemaMismatch: an
    overflow, a null key, a retract that the function does not support. Arguments are never changed
    in place, and a result may be one of them.
    """

    def reset(self) -> None:
        """Begin the next key; the accumulated value is None."""
        ...

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value that is not older than it."""
        ...

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value that is older than it."""
        ...

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value is retracted, older or not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """The result of a reduction.

    Attributes:
        values: One value per segment of the steps: a pick of the rows that hold the values, or an
            array.
        undecided: Segments, ascending, that the definition has to compute one record at a time,
            for example because they might overflow; None when there are none. Their `values` are
            ignored.
    """

    values: Pick | pa.Array
    undecided: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """The vectorised execution of a function.

    Attributes:
        reduce: Returns the values, given the steps of one column and an array of all its rows.
            Called only with steps in `handles`, and with at least one segment; each segment has at
            least one step.
        handles: The supported steps; segments with other steps go through the definition.
        keeps_single: The reduction returns the value of a segment of one ADD unchanged. If false,
            single records that the merge keeps as they are (merge-semantics 1.6) are not passed to
            it.
        late_as_add: A late value has the same effect as any other, so late values are passed as ADD
            and the machine does not determine which values are late.
    """

    reduce: Callable[[Steps, pa.Array], Reduced]
    handles: frozenset[Step] = frozenset({Step.ADD})
    keeps_single: bool = True
    late_as_add: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfitValue:
    """A value that does not fit the function of its column, for example because it cannot be read.

    Attributes:
        row: The row of the column that holds the value.
        value: The value as text for messages, cut if it is long.
        message: The reason, in a few words.
        hint: What is expected.
    """

    row: int
    value: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOption:
    """An option `fields.<column>.<key>` that a function reads.

    Attributes:
        key: Last part of the option's key.
        type: The kind of value, as text for the documentation.
        default: Text for the documentation; None when the option is required.
        meaning: One sentence.
    """

    key: str
    type: str
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDeclaration:
    """The declaration of an aggregate function, for validation, both machines and the documentation.

    Attributes:
        name: The name, as options spell it.
        aliases: Older names.
        summary: One sentence: what the value becomes.
        accepts: Returns whether a column of the type can have the function.
        accepted: The accepted types as text.
        options: The options that the function reads.
        null_rule: The effect of null; one sentence.
        late_rule: The effect of an older value; one sentence.
        retract_rule: The effect of a retract; None if retracts are refused.
        order_free: Any order of arrival of adds gives the same value, but for overflow, rounding and equal values in
            different bytes; so several streams may feed the column.
        anomalies: Surprising results of the reference, and how to avoid them; one or two sentences
            each.
        differences: Differences from the reference, and between its releases.
        problems: Returns the problems of the options, given the field and the column's function.
        unfit: Returns the values that do not fit the function, given the column's function and values. Such
            values are refused when they are written: every later merge of their key would fail, or lose
            precision. None: every value fits.
        stores_unfit: The format stores such values, and so does the writer; only streams refuse them.
        make: Returns the definition, given the column's function and Arrow type.
        reduction: Returns the vectorised execution or None, given the same as `make`.
    """

    name: str
    summary: str
    accepts: Callable[[DataType], bool]
    accepted: str
    null_rule: str
    late_rule: str
    retract_rule: str | None
    make: Callable[[ColumnFunction, pa.DataType], AggregateFunction]
    reduction: Callable[[ColumnFunction, pa.DataType], Reduction | None] = lambda _f, _t: None
    problems: Callable[[DataField, ColumnFunction], Iterable[Problem]] = lambda _field, _f: ()
    unfit: Callable[[ColumnFunction, pa.Array], Iterable[UnfitValue]] | None = None
    stores_unfit: bool = False
    options: tuple[FunctionOption, ...] = ()
    aliases: tuple[str, ...] = ()
    order_free: bool = False
    anomalies: tuple[str, ...] = ()
    differences: tuple[Compatibility, ...] = ()
