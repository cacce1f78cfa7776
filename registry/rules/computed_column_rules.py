"""Rules for columns that are computed by an expression, are constant, or have a default.

Pure, except that an SQL engine in memory evaluates the expressions over columns without rows.

1. A column has one source: a field or another part of the record, an expression, or a constant.
2. A constant or a default is a value of the column's type.
3. A default is allowed only for fields that a message can lack, and not together with `on_missing`.
4. An expression is one scalar expression with allowed functions (`formats.expressions`), over fields whose types are
   known. The column holds every value of the result's type without loss. No part without a field fails, and
   patterns are not too large. A stream has at most 200 expressions.
5. The type of a field is declared once: by the column that is read from it, or in `fields`. Each field in `fields` is used
   by an expression.
6. Columns of captured changes have neither expressions (nor `fields` for them) nor defaults: a change may leave out
   values that it did not touch, and an expression or default without these values would replace the right value.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.formats.expressions.compiled import check_constants, compile_expression
from braid.formats.expressions.errors import ExpressionError
from braid.formats.json.exact_values import ValueFault
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.declared_values import declared_value
from braid.lake import DataType, InvalidRequest, holds_variant, parse_type
from braid.registry.layout.declared_types import parsed_type, type_fault
from braid.registry.layout.stream_columns import expression_fields, mapped_column
from braid.registry.rules.format_rules import unreadable_fields
from braid.registry.rules.json_types import HINT as JSON_HINT, unreadable_in_json
from braid.registry.rules.mapping_rules import PATH_PARTS_MAX
from braid.registry.rules.message_paths import path_fault
from braid.registry.rules.tables.keep_rules import ALWAYS_WHOLE
from braid.schemas import ColumnSource, FieldProblem, Scalar, StreamColumn, StreamSpec, TableSpec
from braid.schemas.field_problems import problem_at

EXPRESSIONS_MAX: Final = 200
"""The largest number of expressions of a stream."""

_SHOWN_MAX: Final = 200
_NOT_BESIDE: Final = ("path", "time_format", "time_zone", "default")


def check_computed_columns(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of expressions, constants, defaults and the fields that expressions use.

    Args:
        table: The stream's table.
        stream: The completed stream.
    """
    types = {column.name: parsed_type(column.type) for column in reversed(table.columns)}
    for index, mapping in enumerate(stream.columns):
        yield from _check_source(mapping, index)
        data_type = types.get(mapping.column)
        if data_type is not None:
            for name, value in (("constant", mapping.constant), ("default", mapping.default)):
                if value is not None:
                    yield from _check_value(name, value, data_type, index)
        if mapping.default is not None and not stream.captures_changes:
            yield from _check_default(stream, mapping, index)
    if stream.captures_changes:
        yield from _check_changes(stream)
        return
    problems = list(_check_fields(stream))
    yield from problems
    if not problems:
        yield from _check_expressions(stream, types)


def declared_fields(stream: StreamSpec) -> tuple[MappedColumn, ...]:
    """Return the fields that only expressions use; those whose type is none are left out."""
    fields = {name: sql for name, sql in stream.fields.items() if parsed_type(sql) is not None}
    return expression_fields(stream.model_copy(update={"fields": fields}), ())


def _check_source(mapping: StreamColumn, index: int) -> Iterator[FieldProblem]:
    """Yield the problems of a column that has not exactly one source."""
    given = {
        ColumnSource.EXPRESSION: mapping.expression,
        ColumnSource.CONSTANT: mapping.constant,
    }
    named = [source for source, value in given.items() if value is not None]
    if len(named) > 1:
        yield problem_at(
            "columns",
            index,
            "constant",
            value=mapping.constant,
            message="the column has both a constant and an expression",
            hint="give one of them; an expression can contain the constant",
        )
    elif named and mapping.source is not named[0]:
        yield problem_at(
            "columns",
            index,
            "source",
            value=mapping.source.value,
            message=f"the column has `{named[0].value}`, so it is not read from a part of the record",
            hint="leave `source` out",
        )
    elif not named and mapping.source in given:
        yield problem_at(
            "columns",
            index,
            "source",
            value=mapping.source.value,
            message=f"the column has no `{mapping.source.value}`",
            hint=f"give `{mapping.source.value}`; `source` then follows from it",
        )
    if not named:
        return
    for name in _NOT_BESIDE:
        value = getattr(mapping, name)
        if value is None or (name == "default" and named == [ColumnSource.EXPRESSION]):
            continue
        yield problem_at(
            "columns",
            index,
            name,
            value=value,
            message=f"this has no effect, because the column has `{named[0].value}`",
            hint="leave it out",
        )


def _check_value(
    name: str, value: Scalar, data_type: DataType, index: int
) -> Iterator[FieldProblem]:
    try:
        declared_value(value, data_type)
    except ValueFault as fault:
        yield problem_at(
            "columns",
            index,
            name,
            value=value,
            message=f"found {fault.found}, expected {fault.expected}",
            hint="write the value as in a JSON message: times in ISO 8601, bytes in base64",
        )


def _check_default(stream: StreamSpec, mapping: StreamColumn, index: int) -> Iterator[FieldProblem]:
    if mapping.source is ColumnSource.CONSTANT:
        return  # a problem of the source
    if not mapping.source.is_in_value:
        message = (
            f"a column that is read from the {mapping.source.value} of a record has no default"
        )
        hint = "leave it out, or declare `default` of the table's column"
    elif mapping.on_missing is not None:
        message = "a record without the field has the default, so `on_missing` has no effect"
        hint = "leave one of them out"
    elif isinstance(stream.format, ALWAYS_WHOLE):
        message = (
            f"a message of the format `{stream.format.type}` has every field, so this has no effect"
        )
        hint = "leave it out, or declare `default` of the table's column"
    else:
        return
    yield problem_at("columns", index, "default", value=mapping.default, message=message, hint=hint)


def _check_changes(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield a problem for whatever would compute columns of captured changes."""
    for index, mapping in enumerate(stream.columns):
        for name, value in (("expression", mapping.expression), ("default", mapping.default)):
            if value is not None:
                yield problem_at(
                    "columns",
                    index,
                    name,
                    value=str(value)[:_SHOWN_MAX],
                    message="columns of captured changes are not computed",
                    hint="read the column from a field, or give it a `constant`",
                )
    for address in stream.fields:
        message = "columns of captured changes are not computed, so no expression uses this field"
        yield _field_problem(address, message=message, hint="leave it out")


def _check_expressions(
    stream: StreamSpec, types: Mapping[str, DataType | None]
) -> Iterator[FieldProblem]:
    columns = [
        (index, mapped_column(mapping, data_type))
        for index, mapping in enumerate(stream.columns)
        if (data_type := types.get(mapping.column)) is not None
    ]
    computed = [(index, one) for index, one in columns if one.expression is not None]
    if len(computed) > EXPRESSIONS_MAX:
        yield problem_at(
            "columns",
            value=len(computed),
            message=f"a stream has at most {EXPRESSIONS_MAX} expressions",
            hint="compute some of the values where the records are made",
        )
        return
    fields = expression_fields(stream, [one for _, one in columns])
    used: set[tuple[str, ...]] = set()
    is_whole = True
    for index, column in computed:
        try:
            compiled = compile_expression(column, fields)
            check_constants(compiled)
        except ExpressionError as error:
            is_whole = False
            yield problem_at(
                "columns",
                index,
                "expression",
                value=(column.expression or "")[:_SHOWN_MAX],
                message=str(error),
                hint=error.hint,
            )
        else:
            used |= {fields[number].path for number in compiled.fields}
    # An expression that cannot be parsed may use any field.
    for address in stream.fields if is_whole else ():
        if tuple(address.split(".")) not in used:
            yield _field_problem(
                address,
                message="no expression uses this field",
                hint="leave it out, or correct its path",
            )


def _check_fields(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the fields that are declared for expressions."""
    columns = {
        mapping.source_path[: PATH_PARTS_MAX + 1]: f"the column `{mapping.column}`"
        for mapping in stream.columns
        if mapping.source is ColumnSource.VALUE
    }
    paths = {address: tuple(address.split(".")) for address in stream.fields}
    leaves = columns | {
        path[: PATH_PARTS_MAX + 1]: f"the field `{name}`" for name, path in paths.items()
    }
    inside = {path[:end]: name for path, name in leaves.items() for end in range(1, len(path))}
    for address, path in paths.items():
        fault = _type_fault(stream.fields[address]) or path_fault(address)
        around = next((leaves[p] for n in range(1, len(path)) if (p := path[:n]) in leaves), None)
        if fault is not None:
            message, hint = fault
        elif len(path) > PATH_PARTS_MAX:
            message = f"a path has at most {PATH_PARTS_MAX} names, this one has {len(path)}"
            hint = "use a field that is less deep"
        elif path in columns:
            message = f"{columns[path]} is read from this field, and its type is that of the field"
            hint = "leave it out"
        elif path in inside:
            message = f"this is an object of the message: {inside[path]} is read from inside of it"
            hint = "name the field that holds the value"
        elif around is not None:
            message = f"{around} is an object that contains this field"
            hint = "leave it out: expressions can use what is inside of a ROW by its path"
        else:
            continue
        yield _field_problem(address, message=message, hint=hint)
    for field, message, hint in unreadable_fields(stream.format, declared_fields(stream)):
        yield _field_problem(field.address, message=message, hint=hint)


def _type_fault(sql: str) -> tuple[str, str] | None:
    try:
        data_type = parse_type(sql)
    except InvalidRequest as error:
        return type_fault(error)
    if holds_variant(data_type):
        return (
            "expressions cannot look into a VARIANT",
            "declare the field as STRING: it gets the JSON",
        )
    reason = unreadable_in_json(data_type)
    return None if reason is None else (reason, JSON_HINT)


def _field_problem(address: str, *, message: str, hint: str) -> FieldProblem:
    return problem_at("fields", address, value=address, message=message, hint=hint)
