"""Compiled expressions: expressions that were checked against the types of the fields that they use and of the column that they fill."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from braid.formats.expressions.errors import SHOWN_MAX, ExpressionError
from braid.formats.expressions.patterns import PATTERN_SIZE_MAX, pattern_size
from braid.formats.expressions.result_types import is_lossless
from braid.formats.expressions.sql_engine import SqlError, sql_engine
from braid.formats.expressions.sql_text import quoted
from braid.formats.expressions.syntax import Path, parse_expression
from braid.formats.mapped_column import MappedColumn
from braid.lake import to_arrow_type

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledExpression:
    """The expression of a column.

    Attributes:
        sql: The expression over the columns of the engine's input, whose names are those of `input_name`.
        fields: The indexes of the fields that it uses.
        growth: The largest result, in relation to the message.
        constants: Parts of `sql` that use no field and are evaluated for every record.
        patterns: The regular expressions.
    """

    sql: str
    fields: tuple[int, ...]
    growth: int
    constants: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


def compile_expression(column: MappedColumn, fields: Sequence[MappedColumn]) -> CompiledExpression:
    """Return the expression of a column, checked.

    Args:
        column: The column.
        fields: The fields that it can use; of several with one path the first counts.

    Raises:
        ExpressionError: It is no expression, or none over these fields, or its result is of a type that the column
            does not hold without loss.
    """
    assert column.expression is not None, "the column is computed"
    places: dict[Path, int] = {}
    for place, one in enumerate(fields):
        places.setdefault(one.path, place)
    names = {path: input_name(place) for path, place in places.items()}

    known: dict[str, Sequence[str] | None] = {}

    def names_in(sql: str, paths: Iterable[Path]) -> Sequence[str] | None:
        if sql not in known:
            kind = _result_type(sql, [places[path] for path in paths], fields)
            known[sql] = [name for name, _ in kind.children] if kind.id == "struct" else None
        return known[sql]

    parsed = parse_expression(column.expression, names, names_in)
    used = tuple(places[path] for path in parsed.fields)
    compiled = CompiledExpression(
        sql=parsed.sql,
        fields=used,
        growth=parsed.growth,
        constants=parsed.constants,
        patterns=parsed.patterns,
    )
    found = _result_type(parsed.sql, used, fields)
    if not is_lossless(found, column.type):
        wanted = column.type.with_nullable(True)
        message = f"its result is {found}, which a column of type {wanted} cannot hold without loss"
        raise ExpressionError(message, "write the conversion into the expression: CAST(... AS ...)")
    return compiled


def check_constants(compiled: CompiledExpression) -> None:
    """Refuse an expression which fails for every record, or whose patterns take long to compile.

    This is for registration: what is registered already is not refused later.

    Raises:
        ExpressionError: A constant part fails, or a pattern is none, or too large.
    """
    for pattern in compiled.patterns:
        size = pattern_size(pattern)
        if size > PATTERN_SIZE_MAX:
            message = (
                f"the pattern `{pattern[:SHOWN_MAX]}` has a size of {size} with its repetitions written out, "
                f"expected at most {PATTERN_SIZE_MAX}"
            )
            raise ExpressionError(
                message, r"repeat less; each class such as `\pL` has a size of 500"
            )
        _check_constant(f"regexp_matches('', {quoted(pattern)})", f"the pattern `{pattern}`")
    for constant in compiled.constants:
        _check_constant(constant, f"the part `{constant}`")


def _check_constant(sql: str, shown: str) -> None:
    """Refuse a part that fails although it uses no field."""
    engine, row = sql_engine(), pa.table({input_name(0): pa.array([0], pa.int8())})
    try:
        (result,) = engine.evaluate([sql], row)
    except SqlError as error:
        reason = str(error)
    else:
        if not result.null_count:
            return
        reason = engine.why_failed(sql, row)
    message = f"{shown[:SHOWN_MAX]} fails for every record: {reason}"
    raise ExpressionError(message, "correct it; TRY(...) and TRY_CAST give NULL instead of failing")


def input_name(place: int) -> str:
    """Return the name of a field's column in the engine's input."""
    return f"field_{place}"


def with_addresses(message: str, fields: Sequence[MappedColumn]) -> str:
    """Return a message of the engine with the addresses of fields in the place of their columns' names."""

    def address(found: re.Match[str]) -> str:
        place = int(found[1])
        return fields[place].address if place < len(fields) else found[0]

    return re.sub(r"\bfield_([0-9]{1,6})\b", address, message)


def input_array(array: pa.Array) -> pa.Array:
    """Return a field's values as the engine takes them: it has fewer functions on timestamps of coarse units."""
    if pa.types.is_timestamp(array.type) and array.type.unit in ("s", "ms"):
        return array.cast(pa.timestamp("us", tz=array.type.tz))
    return array


def _result_type(sql: str, used: Sequence[int], fields: Sequence[MappedColumn]) -> "DuckDBPyType":
    """Return the type of an expression's result, or of a part's; raise `ExpressionError` if it cannot be evaluated."""
    try:
        return sql_engine().result_type(sql, _input(used, fields))
    except SqlError as error:
        message = f"it cannot be evaluated: {with_addresses(str(error), fields)}"
        hint = "use functions and operators on the types that `fields` and columns declare"
        raise ExpressionError(message, hint) from error


def _input(used: Sequence[int], fields: Sequence[MappedColumn]) -> pa.Schema:
    """Return the columns of the engine's input."""
    types = {
        input_name(place): input_array(pa.nulls(0, to_arrow_type(fields[place].type))).type
        for place in used
    }
    return pa.schema(list(types.items()) or [(input_name(0), pa.int8())])
