"""Options of a table that have no effect, among those for merging and for compaction at commit.

The reference ignores options of other merge engines, options of functions that a column does not use, and
misspelt options. `validate_schema` ignores them too. Such options are probably mistakes, so they are
listed here, with the option that was probably meant.

An unknown key is listed only if it is similar to a known key, because other unknown keys may belong
to other programs. An unknown option of a column (`fields.<column>.…`) is always listed, unless it
begins with `map.` or `pk-`.

Source: merge-semantics 3.2, 3.3, 5, 6.3, 7.6, 9.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.lake.declaration.engine_declarations import ENGINES
from braid.lake.declaration.rule_problems import known_names
from braid.lake.errors import Problem
from braid.lake.format.schema import TableSchema
from braid.lake.merge.aggregate_function import FunctionDeclaration
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.declared_options import (
    DEFAULT_FUNCTION,
    FIELDS,
    SEQUENCE_GROUP,
    declared_groups,
)
from braid.lake.merge.functions.registry import FUNCTIONS, function_named
from braid.lake.merge.spec import effective_functions
from braid.lake.options.option_keys import similar_option_key
from braid.lake.options.table_options import MergeEngine

_FUNCTION: Final = "aggregate-function"
_IGNORE_RETRACT: Final = "ignore-retract"
_SEQUENCE_FIELD: Final = "sequence.field"
_SORT_ORDER: Final = "sequence.field.sort-order"
_COMMON: Final = (_FUNCTION, _IGNORE_RETRACT, SEQUENCE_GROUP)
# Options for writers that compact. Here writers do not compact, and commits wait for no compaction.
_AT_COMMIT: Final = frozenset(
    {"commit.force-compact", "lookup-wait", "changelog-producer.lookup-wait"}
)
# Options of columns that other engines of the format read: storage of maps, indexes of keys.
_FOREIGN: Final = ("map.", "pk-")


def ineffective_options(schema: TableSchema) -> tuple[Problem, ...]:
    """Return one problem for every option of merging, or of compaction at commit, without effect.

    Unknown keys are included where they are similar to a known key, and all unknown options of a column.

    Args:
        schema: A schema that `validate_schema` accepts.

    Returns:
        The problems in the order of the keys; `hint` names what would have an effect.
    """
    functions = {function.column: function for function in effective_functions(schema)}
    return tuple(
        problem
        for key in sorted(schema.options)
        for problem in (
            _field_option_problems(schema, key, functions)
            if key.startswith(f"{FIELDS}.")
            else _engine_option_problems(schema, key)
        )
    )


def _engine_option_problems(schema: TableSchema, key: str) -> Iterator[Problem]:
    engine = schema.table_options.merge_engine
    reading = [
        other
        for other, declaration in ENGINES.items()
        if key in {option.key for option in declaration.options}
    ]
    if reading and engine not in reading:
        yield _ineffective(
            schema,
            key,
            f"merge-engine = {engine} does not read it",
            f"it belongs to {', '.join(reading)}",
        )
    if key == _SORT_ORDER and not schema.table_options.sequence_field:
        yield _ineffective(
            schema, key, f"there is no `{_SEQUENCE_FIELD}`", "declare the fields too"
        )
    if key in _AT_COMMIT:
        why = "commits neither compact nor wait for a compaction"
        yield _ineffective(
            schema, key, why, "leave it out, and compact the table with `braid maintain`"
        )
    meant = _meant_key(key)
    if meant is not None:
        yield _ineffective(schema, key, "there is no such option", f"did you mean `{meant}`?")


def _meant_key(key: str) -> str | None:
    """Return the known key that an unknown key was probably meant to be."""
    family, _, column_option = key.partition(".")
    column, _, suffix = column_option.rpartition(".")
    if family.lower() in ("field", "fields") and suffix in _suffixes():
        return f"{FIELDS}.{column}.{suffix}"
    return similar_option_key(key)


def _field_option_problems(
    schema: TableSchema, key: str, functions: Mapping[str, ColumnFunction]
) -> Iterator[Problem]:
    engine = schema.table_options.merge_engine
    column, suffix = _parts(key)
    has_functions = engine in (MergeEngine.AGGREGATION, MergeEngine.PARTIAL_UPDATE)
    if key == DEFAULT_FUNCTION:
        if not has_functions:
            yield _ineffective(schema, key, f"merge-engine = {engine} has no aggregate functions")
    elif suffix == SEQUENCE_GROUP:
        if engine is not MergeEngine.PARTIAL_UPDATE:
            yield _ineffective(
                schema,
                key,
                f"merge-engine = {engine} has no sequence groups",
                f"they belong to {MergeEngine.PARTIAL_UPDATE}",
            )
    elif suffix not in _suffixes() | _read_by(functions, column):
        if not suffix.startswith(_FOREIGN):
            hint = known_names("options of a column", suffix, sorted(_suffixes()))
            yield _ineffective(schema, key, "there is no such option of a column", hint)
    elif not has_functions:
        yield _ineffective(schema, key, f"merge-engine = {engine} has no aggregate functions")
    else:
        yield from _function_option_problems(schema, key, suffix, column, functions)


def _function_option_problems(
    schema: TableSchema,
    key: str,
    suffix: str,
    column: str,
    functions: Mapping[str, ColumnFunction],
) -> Iterator[Problem]:
    function = functions.get(column)
    if function is None:
        yield _ineffective(schema, key, _why_without_function(schema, column))
    elif suffix not in _COMMON and suffix not in _read_by(functions, column):
        reading = sorted(name for name, other in FUNCTIONS.items() if suffix in _keys(other))
        yield _ineffective(
            schema,
            key,
            f"`{function.name}`, the function of `{column}`, does not read it",
            f"it belongs to {', '.join(reading)}",
        )


def _ineffective(schema: TableSchema, key: str, why: str, hint: str = "leave it out") -> Problem:
    return Problem(field=key, value=schema.options[key], message=f"has no effect: {why}", hint=hint)


def _parts(key: str) -> tuple[str, str]:
    """Return the column, or columns, and the option of `fields.<column>.<option>`."""
    column, _, suffix = key.removeprefix(f"{FIELDS}.").partition(".")
    return column, suffix


def _suffixes() -> frozenset[str]:
    return frozenset(_COMMON).union(*(_keys(declaration) for declaration in FUNCTIONS.values()))


def _read_by(functions: Mapping[str, ColumnFunction], column: str) -> frozenset[str]:
    """Return the options that the column's function reads, which may be a user's own."""
    function = functions.get(column)
    declaration = None if function is None else function_named(function.name)
    return frozenset() if declaration is None else _keys(declaration)


def _keys(declaration: FunctionDeclaration) -> frozenset[str]:
    return frozenset(option.key for option in declaration.options)


def _why_without_function(schema: TableSchema, column: str) -> str:
    if column in schema.primary_keys:
        return f"`{column}` is a key column and has no aggregate function"
    groups = declared_groups(schema.options).values()
    if any(column in group.ordering for group in groups):
        return f"`{column}` is an ordering column and has no aggregate function"
    return f"`{column}` has no aggregate function"
