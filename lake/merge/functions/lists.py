"""The aggregate function collect, for columns of arrays.

The definition and the declaration; the vectorised reductions are in `reductions.list_reduction`. With `distinct` and
nested elements, the reduction decides only keys without a value (`reductions.single_value`).

Source: merge-semantics 4.2.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from braid.lake.errors import Problem
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    Reduction,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.reductions.list_reduction import all_elements, distinct_elements
from braid.lake.merge.functions.reductions.single_value import NULLS_ONLY
from braid.lake.merge.functions.support.elements import is_codable
from braid.lake.merge.functions.support.option_values import flag, flag_problems
from braid.lake.merge.functions.support.value_equality import identity
from braid.lake.merge.steps import Step

COLLECT = "collect"
DISTINCT = "distinct"


class Collect:
    """Puts the elements of all arrays into one, null elements included.

    Args:
        function: The column's function, for its options.
        data_type: The column's type: a list.
    """

    def __init__(self, function: ColumnFunction, data_type: pa.DataType) -> None:
        self._distinct = flag(function, DISTINCT)
        self._identity = identity(data_type.value_type)
        self._keeps_first = not is_simple(data_type.value_type)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the accumulated elements, then the elements of the value; with `distinct`, each once.

        Accumulated elements that are nested or bytes are not compared with each other, so repeats in a
        first array that was written without `distinct` stay.
        """
        if accumulated is None and value is None:
            return None
        if not self._distinct:
            if accumulated is None or value is None:
                return value if accumulated is None else accumulated
            return [*_elements(accumulated), *_elements(value)]
        return self._union(_elements(accumulated), _elements(value))

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the same as `aggregate`: elements are in order of arrival."""
        return self.aggregate(accumulated, value)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated elements without the earliest occurrence of each retracted one."""
        taken = _elements(value)
        if accumulated is None or not taken:
            return accumulated
        remaining = Counter(map(self._identity, taken))
        missing = len(taken)
        kept = []
        elements = _elements(accumulated)
        for position, element in enumerate(elements):
            key = self._identity(element)
            if not remaining[key]:
                kept.append(element)
                continue
            remaining[key] -= 1
            missing -= 1
            if not missing:
                return kept + elements[position + 1 :]
        return kept

    def _union(self, accumulated: list[object], value: list[object]) -> list[object]:
        kept = list(accumulated) if self._keeps_first else []
        seen = {self._identity(element) for element in kept}
        for element in value if self._keeps_first else accumulated + value:
            key = self._identity(element)
            if key not in seen:
                seen.add(key)
                kept.append(element)
        return kept


def is_simple(element_type: pa.DataType) -> bool:
    """Return whether `distinct` also removes repeats among accumulated elements."""
    return not (pa.types.is_nested(element_type) or _is_bytes(element_type))


def _is_bytes(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(data_type) or pa.types.is_fixed_size_binary(data_type))


def _elements(array: object) -> list[object]:
    if array is None:
        return []
    assert isinstance(array, list)
    return array


def _accepts(data_type: DataType) -> bool:
    return data_type.root is TypeRoot.ARRAY


def _make(function: ColumnFunction, data_type: pa.DataType) -> AggregateFunction:
    return Collect(function, data_type)


def _reduction(function: ColumnFunction, data_type: pa.DataType) -> Reduction | None:
    # With `ignore-retract` the wrapper of the definition puts a late value first.
    in_order = not function.ignore_retract
    handles = frozenset({Step.ADD, Step.LATE})
    if not flag(function, DISTINCT):
        # Without `distinct` a seed has the effect of an add.
        reduce = partial(all_elements, in_order=in_order)
        return Reduction(reduce=reduce, handles=handles | {Step.SEED})
    if not is_codable(data_type.value_type):
        return NULLS_ONLY
    if not in_order and not is_simple(data_type.value_type):
        # A late value comes first then, and repeats in the first value stay.
        handles -= {Step.LATE}
    reduce = partial(distinct_elements, in_order=in_order)
    return Reduction(reduce=reduce, handles=handles, keeps_single=False)


def _problems(_field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    yield from flag_problems(function, DISTINCT)


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name=COLLECT,
        summary="The elements of all arrays in one; with `distinct`, each once.",
        accepts=_accepts,
        accepted="ARRAY",
        null_rule="A null array adds nothing; null elements are kept.",
        late_rule="The same as for a newer value: the elements are added at the end.",
        retract_rule="For each element of the retract one equal element is removed, the earliest; "
        "elements are equal by value, null equals null. The result may be an empty array.",
        options=(
            FunctionOption(
                key=DISTINCT, type="boolean", default="false", meaning="Each element occurs once."
            ),
        ),
        anomalies=(
            "Elements are in the order of arrival, also those of an older value; with "
            "`ignore-retract`, elements of an older value come first. Collect rows with their ordering value, and sort when "
            "reading.",
            "With `distinct`, if an array was stored with repeated nested or bytes elements, the "
            "repeats stay for ever; other repeats disappear. Write arrays without repeats.",
            "With `distinct`, a retract removes an element even if several records brought it. Do not "
            "use `distinct` where values are taken back.",
            "A retract is lost if it is merged before the value that it takes back, for example in "
            "one write buffer. Write it after the record that brought the value.",
        ),
        differences=(
            Compatibility(
                subject="ARRAY, MAP and ROW elements taken back",
                verdict="other",
                why="Braid always removes them; Paimon fails when they come from files.",
            ),
            Compatibility(
                subject="bytes elements, with `distinct` or retracted",
                verdict="other",
                why="They are equal by value, as in later versions of Paimon; Paimon 2.0 compares "
                "their addresses in memory.",
            ),
            Compatibility(
                subject="order of elements with `distinct`",
                verdict="other",
                why="The order of their first arrivals; in Paimon, the order of a hash set.",
            ),
        ),
        make=_make,
        reduction=_reduction,
        problems=_problems,
    ),
)
