"""Aggregate functions as tests call them: by name, with options, over steps written as pairs."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import DataField
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.aggregate_function import AggregateFunction, Reduction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.function_definition import definition_of
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.plain_values import plain_array, plain_values
from braid.lake.merge.segments import Segments
from braid.lake.merge.selection import Pick
from braid.lake.merge.steps import Step, Steps

COLUMN = "v"
Happenings = Sequence[tuple[Step, object]]


def declared(name: str, **options: str) -> ColumnFunction:
    """Return the function of a column; `nested_key` stands for the option `nested-key`."""
    pairs = sorted((key.replace("_", "-"), value) for key, value in options.items())
    ignores = options.get("ignore_retract") == "true"
    return ColumnFunction(column=COLUMN, name=name, ignore_retract=ignores, options=tuple(pairs))


def given_function(name: str, kind: pa.DataType, **options: str) -> AggregateFunction:
    """Return the definition of a function, as the machines call it."""
    return definition_of(declared(name, **options), kind)


def given_reduction(name: str, kind: pa.DataType, **options: str) -> Reduction | None:
    """Return the vectorised execution of a function."""
    return FUNCTIONS[name].reduction(declared(name, **options), kind)


def problems_of(name: str, column_type: str | dict[str, object], **options: str) -> list[str]:
    """Return what is wrong with options of a column, as text."""
    field = DataField(name=COLUMN, type=parse_type(column_type))
    return [str(problem) for problem in FUNCTIONS[name].problems(field, declared(name, **options))]


def arrow_type(column_type: str | dict[str, object]) -> pa.DataType:
    """Return the Arrow type of a column type of the format."""
    return to_arrow_type(parse_type(column_type))


def folded(function: AggregateFunction, happenings: Happenings, seed: object = None) -> object:
    """Return the value after the steps, as the definition says."""
    function.reset()
    accumulated = seed
    for step, value in happenings:
        match step:
            case Step.ADD:
                accumulated = function.aggregate(accumulated, value)
            case Step.LATE:
                accumulated = function.aggregate_late(accumulated, value)
            case Step.RETRACT:
                accumulated = function.retract(accumulated, value)
            case Step.SEED:
                accumulated = value
    return accumulated


def added(function: AggregateFunction, *values: object) -> object:
    """Return the value after values that are not older than one another."""
    return folded(function, [(Step.ADD, value) for value in values])


def reduced(
    reduction: Reduction, kind: pa.DataType, segments: Sequence[Happenings]
) -> tuple[list[object], list[int]]:
    """Return what the reduction says of each segment, and the segments it leaves undecided.

    Rows lie in the column in another order than that of the steps, among rows that no step takes,
    and the column is a slice.
    """
    flat = [happening for segment in segments for happening in segment]
    rows = [7 * index % (len(flat) + 1) for index in range(len(flat))]
    if len(set(rows)) < len(flat):
        rows = list(range(len(flat)))[::-1]
    values: list[object] = [flat[0][1]] * (len(flat) + 3)
    for row, (_, value) in zip(rows, flat, strict=True):
        values[row + 1] = value
    column = plain_array(values, kind).slice(1)
    lengths = [len(segment) for segment in segments]
    steps = Steps(
        segments=Segments(
            order=np.array(rows, dtype=np.int64),
            starts=np.concatenate(([0], np.cumsum(lengths[:-1]))).astype(np.int64),
        ),
        steps=np.array([step for step, _ in flat], dtype=np.int8),
    )
    result = reduction.reduce(steps, column)
    found = result.values
    array = found.take(pa.chunked_array([column])) if isinstance(found, Pick) else found
    assert array.type == kind
    array.validate(full=True)
    undecided = [] if result.undecided is None else result.undecided.tolist()
    return plain_values(array), undecided
