"""How values of one column combine into one: what an aggregate function is and how it is declared.

A function has one definition, `AggregateFunction`, which takes one value after the other, and may
have a second execution, `Reduction`, which takes all values of many keys at once and gives the same
answers. Values are those of `plain_values`; null is None.

Source: merge-semantics 4.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.errors import Problem
from lake.format.data_types import DataField, DataType
from lake.merge.column_function import ColumnFunction
from lake.merge.compatibility import Compatibility
from lake.merge.selection import Pick
from lake.merge.steps import Step, Steps


class AggregateFunction(Protocol):
    """The definition: folds the values of one column, key by key.

    Every method may raise SchemaMismatch: an overflow, a null key, a retract it cannot take.
    Arguments are never changed in place, and a result may be one of them.
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
        """Return the accumulated value after a value is taken back, older or not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """What a reduction found.

    Attributes:
        values: One per segment of the steps: the rows that give them, or the values.
        undecided: Segments, ascending, whose values are to be found one record at a time instead,
            because they might overflow, for example; None when there are none. Their `values` are
            ignored.
    """

    values: Pick | pa.Array
    undecided: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """The vectorised execution of a function.

    Attributes:
        reduce: From the steps of one column and all its rows in one array, the values. Called only
            with steps of `handles`; at least one segment, each of at least one step.
        handles: The steps it can take; the other segments go through the definition.
        keeps_single: A segment of one ADD gives that value unchanged. Where not, segments of one
            record are not passed in: their value is kept as it is (merge-semantics 1.6).
        late_as_add: A value that comes late does what any other does, so the machine need not find
            out which do; they are passed as ADD.
    """

    reduce: Callable[[Steps, pa.Array], Reduced]
    handles: frozenset[Step] = frozenset({Step.ADD})
    keeps_single: bool = True
    late_as_add: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfitValue:
    """A value that no merge of its column could take.

    Attributes:
        row: Its position in the column.
        value: The value for people, cut if it is long.
        message: Why, in a few words.
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
        type: What its value is, for people.
        default: For people; None when it must be given.
        meaning: One sentence.
    """

    key: str
    type: str
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDeclaration:
    """All that is known of an aggregate function: validation, machines and the docs read this.

    Attributes:
        name: As options spell it.
        aliases: Older names.
        summary: One sentence: what the value becomes.
        accepts: Whether a column of the type can have the function.
        accepted: The same for people.
        options: That the function reads.
        null_rule: What a null does; one sentence.
        late_rule: What an older value does; one sentence.
        retract_rule: What a retract does; None when it is refused.
        order_free: Any order of arrival gives the same value (design 4: safe for several streams).
        anomalies: Where the reference's answer surprises, and the way round it; one or two
            sentences each.
        differences: From the reference, and what only some of its releases do.
        problems: From the field and the column's function, what is wrong with its options.
        unfit: From the column's function and values, those that it cannot read: they are refused when
            they are written, because every later merge of their key would fail. None: it reads all.
        stores_unfit: The format stores such values, and so does the writer; only streams refuse them.
        make: From the column's function and its Arrow type, the definition.
        reduction: From the same, the vectorised execution, or None.
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


FunctionTable = Mapping[str, FunctionDeclaration]
