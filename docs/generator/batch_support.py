"""Text of a function's page about the steps that are merged in whole batches, derived from the function's reductions."""

from collections.abc import Iterator, Sequence

from braid.lake import parse_type, to_arrow_type
from braid.lake.aggregates import ColumnFunction, FunctionDeclaration, Step
from braid.lake.format.data_types import DataField
from braid.lake.merge.functions.reductions.single_value import NULLS_ONLY, SINGLE_VALUES
from docs.generator.function_examples import FunctionExample
from docs.generator.markdown import code

_PROBES = (
    "BIGINT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "DECIMAL(30, 2)",
    "STRING",
    "BOOLEAN",
    "BYTES",
    "DATE",
    "ARRAY<INT>",
    "ARRAY<ROW<x INT>>",
    "MAP<STRING, INT>",
)
"""One type of every family of types that functions treat in the same way."""


def batch_support(declaration: FunctionDeclaration, examples: Sequence[FunctionExample]) -> str:
    """Return the text; it names options and types if these make a difference."""
    return " ".join(_variants(declaration, examples))


def _variants(
    declaration: FunctionDeclaration, examples: Sequence[FunctionExample]
) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for options in _option_sets(examples):
        named = " and ".join(code(key) for key in options)
        for text, types in _by_type(declaration, options, examples).items():
            label = ", ".join(map(code, types))
            found.setdefault(text, []).append(f"{label} with {named}" if named else label)
    if len(found) == 1:
        (text,) = found
        yield text
        return
    for text, labels in found.items():
        yield f"{'; '.join(labels)}: {text}"


def _option_sets(examples: Sequence[FunctionExample]) -> list[dict[str, str]]:
    sets: list[dict[str, str]] = []
    for example in examples:
        options = {
            key: value for key, value in example.options.items() if key != "list-agg-delimiter"
        }
        if options not in sets:
            sets.append(options)
    return sets


def _by_type(
    declaration: FunctionDeclaration,
    options: dict[str, str],
    examples: Sequence[FunctionExample],
) -> dict[str, list[str]]:
    function = ColumnFunction(
        column="v", name=declaration.name, options=tuple(sorted(options.items()))
    )
    found: dict[str, list[str]] = {}
    own = [example.type for example in examples if example.type.startswith(("ARRAY<ROW", "MAP"))]
    for name in dict.fromkeys([*_PROBES, *own]):
        data_type = parse_type(name)
        field = DataField(id=0, name="v", type=data_type)
        if declaration.accepts(data_type) and not list(declaration.problems(field, function)):
            text = _support(declaration, function, name)
            found.setdefault(text, []).append(name)
    return found


def _support(declaration: FunctionDeclaration, function: ColumnFunction, type_name: str) -> str:
    reduction = declaration.reduction(function, to_arrow_type(parse_type(type_name)))
    if reduction is None:
        return "No: records are merged one at a time."
    if reduction is NULLS_ONLY:
        return "For keys without a value; records of other keys are merged one at a time."
    if reduction is SINGLE_VALUES:
        return "For keys with at most one value; records of other keys are merged one at a time."
    takes_late = reduction.late_as_add or Step.LATE in reduction.handles
    slow = ["older values"] * (not takes_late)
    if declaration.retract_rule is not None and Step.RETRACT not in reduction.handles:
        slow.append("values taken back")
    return (
        f"Yes; records of keys with {' or '.join(slow)} are merged one at a time."
        if slow
        else "Yes."
    )
