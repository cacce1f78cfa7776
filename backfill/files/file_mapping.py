"""Mapping of files: the field of a file that fills each column of the stream, and the check for missing fields. Pure.

| column; the first line that applies decides | field |
|---|---|
| named in `--columns` | the field that is given there |
| read by the stream from the message's value | the field of the same path, if the files have it |
| constant | none |
| computed by the stream | the fields of its expression, unless the files have a field with the column's name and none of the fields that the stream declares in `fields` |
| all others | the field with the column's name |

A constant column without a field keeps its constant. Any other column without a field counts as missing in every row:
the row gets the column's `default`, null, or what `on_missing` says.

Key columns and NOT NULL columns need a field, and so does at least one of the ordering columns; otherwise the file is
refused. Constants, computed columns and columns with a `default` are exempt. With `on_null_ordering: clear` no ordering
column needs a field. Fields that fill no column are ignored, whatever `on_new_field` says.

If a file lacks a field that the stream's `where` or `delete_when` uses, the condition does not apply to the rows of
the file. A condition over headers or other parts of a Kafka record never applies, because files do not have them.

The fields of a JSON file are not known before its rows are read (`has_field` is None). So the stream's paths,
expressions and other conditions apply to all rows, and rows are refused instead of the file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from braid.formats.part_conditions import parse_condition, reads_parts
from braid.lake import InvalidRequest, Problem
from braid.records.stream_plan import StreamPlan
from braid.schemas import ColumnSource, JsonFormat, OnNewField, StreamColumn, StreamSpec

HasField: TypeAlias = Callable[[tuple[str, ...]], bool]
_WITHOUT_FIELD: Final = (ColumnSource.EXPRESSION, ColumnSource.CONSTANT)
_MESSAGE: Final = "the files cannot fill the stream's columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMapping:
    """How the rows of files become rows of a stream.

    Attributes:
        spec: The stream, reading fields of files.
        left_out: The conditions that do not apply.
    """

    spec: StreamSpec
    left_out: tuple["LeftOut", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A condition that does not apply to the rows of a file.

    Attributes:
        name: `where` or `delete_when`.
        why: What the file lacks, in the words of a notice.
    """

    name: str
    why: str


def map_files(
    stream: StreamSpec, *, fields: Mapping[str, str], has_field: HasField | None
) -> FileMapping:
    """Return how rows of files are read.

    Args:
        stream: The stream as registered.
        fields: By column, the path of the field that fills it, from `--columns`.
        has_field: Whether the files have a field; None: it is not known before a row is read.

    Raises:
        InvalidRequest: The stream has no column that `fields` names, or the files no such field.
    """
    problems = list(_wrong_fields(stream, fields, has_field))
    if problems:
        raise InvalidRequest(_MESSAGE, problems=problems)
    columns = tuple(
        _mapped(column, fields, has_field, declared=stream.fields) for column in stream.columns
    )
    left_out = tuple(
        LeftOut(name=name, why=why)
        for name, text in (("where", stream.where), ("delete_when", stream.delete_when))
        if text is not None and (why := _lack(text, has_field)) is not None
    )
    spec = stream.model_copy(
        update={
            "columns": columns,
            "format": JsonFormat(),
            # New fields of files are no reason to change the table, or to refuse a row.
            "on_new_field": OnNewField.IGNORE,
            **{one.name: None for one in left_out},
        }
    )
    return FileMapping(spec=spec, left_out=left_out)


def check_filled(plan: StreamPlan, has_field: HasField | None, *, path: str) -> None:
    """Refuse a file if a key column, a NOT NULL column or all ordering columns need a field that the file does not have.

    Constants, computed columns and columns with a `default` need no field, and ordering columns need none with
    `on_null_ordering: clear`.

    Args:
        plan: The plan of the mapped stream.
        has_field: Whether the file has a field; None: that is not known.
        path: The file.

    Raises:
        InvalidRequest: Every row of the file would be refused.
    """
    if has_field is None:
        return
    found = {
        column.name
        for column in plan.columns
        if column.source in _WITHOUT_FIELD
        or column.default is not None
        or (column.path and has_field(column.path))
    }
    needed = [name for name in plan.written.key if name not in found]
    orders = [name for name in plan.ordering if name not in found]
    if plan.ordering and len(orders) == len(plan.ordering) and not plan.clears_null_ordering:
        needed += orders
    needed += [
        column.name
        for column in plan.columns
        if not column.type.nullable and column.name not in (*found, *needed)
    ]
    if needed:
        problems = [
            Problem(
                field="--columns",
                value=name,
                message=f"{path} has no field for the column {name}, which every row needs",
                hint=f"name the field that holds it: --columns {name}=FIELD",
            )
            for name in needed
        ]
        raise InvalidRequest(_MESSAGE, problems=problems)


def parse_fields(texts: Iterable[str]) -> dict[str, str]:
    """Return the fields by column of `--columns column=field,…`.

    Raises:
        InvalidRequest: A part is not `column=field`, or a column is there twice.

    Example:
        >>> parse_fields(["id=order_id,total=sums.total"])
        {'id': 'order_id', 'total': 'sums.total'}
    """
    found: dict[str, str] = {}
    for part in (part for text in texts for part in text.split(",")):
        column, equals, field = (piece.strip() for piece in part.partition("="))
        if not column or not equals or not field or column in found:
            why = "the column is given twice" if column in found else "expected column=field"
            problem = Problem(field="--columns", value=part, message=why, hint="write id=order_id")
            raise InvalidRequest(_MESSAGE, problems=[problem])
        found[column] = field
    return found


def _mapped(
    column: StreamColumn,
    fields: Mapping[str, str],
    has_field: HasField | None,
    *,
    declared: Collection[str],
) -> StreamColumn:
    """Return a column as it is read from files.

    An expression is left out where a file has the column itself, and none of the fields that the stream declares for
    expressions: such files come from tables.
    """
    given = fields.get(column.column)
    own = column.source is ColumnSource.VALUE
    is_computed = column.source is ColumnSource.EXPRESSION and (
        has_field is None
        or not has_field((column.column,))
        or any(has_field(tuple(address.split("."))) for address in declared)
    )
    if given is None and (is_computed or column.source is ColumnSource.CONSTANT):
        return column
    if column.source in _WITHOUT_FIELD:
        column = column.model_copy(update={"expression": None, "constant": None})
    if given is not None:
        return column.model_copy(update={"path": given, "source": ColumnSource.VALUE})
    if own and (
        has_field is None or has_field(column.source_path) or not has_field((column.column,))
    ):
        return column
    return column.model_copy(update={"path": None, "source": ColumnSource.VALUE})


def _lack(condition: str, has_field: HasField | None) -> str | None:
    """Return what a file lacks that a condition is about; None if it has everything."""
    if reads_parts(condition):
        return "it reads parts of a Kafka record, which no file has"
    if has_field is None:
        return None
    paths = dict.fromkeys(one.path for one in parse_condition(condition))
    lacking = [".".join(path) for path in paths if not has_field(path)]
    if not lacking:
        return None
    names = ", ".join(f"`{address}`" for address in lacking)
    return f"the file has no field {names}"


def _wrong_fields(
    stream: StreamSpec, fields: Mapping[str, str], has_field: HasField | None
) -> Iterator[Problem]:
    for column, field in fields.items():
        if column not in stream.column_names:
            yield Problem(
                field="--columns",
                value=column,
                message=f"the stream {stream.name} does not fill this column",
                hint=f"its columns: {', '.join(stream.column_names)}",
            )
        elif has_field is not None and not has_field(tuple(field.split("."))):
            yield Problem(
                field="--columns",
                value=field,
                message="the file has no such field",
                hint="names are case-sensitive; a dot leads into a record",
            )
