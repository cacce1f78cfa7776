"""Checks of arguments of public methods: a wrong kind or a number out of bounds is refused with the argument's name.

`chosen_columns` also returns the columns that a read returns.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NoReturn

import pyarrow as pa

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.data_types import DataField, DataType
from braid.lake.format.schema import TableSchema
from braid.lake.merge.fold import Machine
from braid.lake.read.predicate import Condition
from braid.lake.read.snapshot_changes import ChangesMode

_SHOWN_MAX: Final = 200
_FIRST_NUMBER_MAX: Final = 1 << 62
"""Largest first sequence number: half of the range of 63 bits is left for the rows of the
writer."""

_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
"""Bounds of Java's `long`, the type of the format's numbers."""


def refuse_argument(name: str, value: object, expected: str) -> NoReturn:
    """Raise InvalidRequest with the name of the argument, its value and what was expected."""
    problem = Problem(field=name, value=repr(value)[:_SHOWN_MAX], message=f"expected {expected}")
    message = "an argument is of the wrong kind"
    raise InvalidRequest(message, problems=[problem])


def check_names(name: str, value: object) -> None:
    """Refuse what is no list of names; a text is none, although it is a sequence of texts."""
    _check_items(name, value, str, "a list of column names")


def check_columns(columns: object) -> None:
    """Refuse what is no list of fields or of pairs of name and type."""
    if not isinstance(columns, Sequence) or isinstance(columns, str | bytes):
        refuse_argument("columns", columns, "a list of (name, type)")
    for column in columns:
        if isinstance(column, DataField):
            continue
        is_pair = isinstance(column, Sequence) and not isinstance(column, str) and len(column) == 2
        if not is_pair or not isinstance(column[0], str):
            refuse_argument("columns", column, "a pair of name and type, or a `DataField`")
        if not isinstance(column[1], str | DataType):
            refuse_argument(f"columns.{column[0]}", column[1], "a type, such as `INT`")


def check_options(value: object) -> None:
    """Refuse what is no mapping of text to text."""
    if not isinstance(value, Mapping):
        refuse_argument("options", value, "a mapping of text to text")
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, str):
            refuse_argument(f"options.{key}", item, "text, such as `4` or `true`")


def check_scan(where: object, batch_rows: object, machine: object) -> None:
    """Refuse conditions, a batch size or a machine of the wrong kind."""
    _check_items("where", where, Condition, "a list of `Condition`")
    if not _is_whole(batch_rows, low=1):
        refuse_argument("batch_rows", batch_rows, "a whole number from 1")
    check_machine(machine)


def check_machine(machine: object) -> None:
    """Refuse what is no `Machine`."""
    if not isinstance(machine, Machine):
        refuse_argument("machine", machine, "a `Machine`")


def checked_mode(value: object) -> ChangesMode:
    """Return the mode of a name; refuse other values."""
    if not isinstance(value, str) or value not in tuple(ChangesMode):
        refuse_argument("mode", value, f"one of {', '.join(ChangesMode)}")
    return ChangesMode(value)


def check_snapshot_id(value: object) -> None:
    """Refuse what is no id of a snapshot; an id is a number, not its digits as text."""
    if not _is_whole(value, low=1):
        refuse_argument("snapshot_id", value, "a whole number from 1")


def check_whole(**values: object) -> None:
    """Refuse what is neither a whole number of 64 bits nor None; the caller checks narrower bounds."""
    for name, value in values.items():
        if value is not None:
            check_number(name, value)


def check_number(name: str, value: object) -> None:
    """Refuse what is no whole number of 64 bits."""
    if not _is_whole(value, low=_LONG_MIN, high=_LONG_MAX):
        refuse_argument(name, value, "a whole number of 64 bits")


def check_skip(skip_rows: object) -> None:
    """Refuse what is no number of rows."""
    if not _is_whole(skip_rows, low=0):
        refuse_argument("skip_rows", skip_rows, "a whole number from 0")


def check_wait(wait_ms: object) -> None:
    """Refuse what is no duration in milliseconds."""
    if not _is_whole(wait_ms, low=0):
        refuse_argument("wait_ms", wait_ms, "milliseconds, 0 or more")


def check_count(name: str, value: object) -> None:
    """Refuse what is neither a whole number from 1 nor None."""
    if value is not None and not _is_whole(value, low=1):
        refuse_argument(name, value, "a whole number from 1")


def check_text(**values: object) -> None:
    """Refuse what is neither text nor None, and text that UTF-8 cannot encode."""
    for name, value in values.items():
        if value is not None and not (isinstance(value, str) and _has_utf8(value)):
            refuse_argument(name, value, "text")


def check_flags(**values: object) -> None:
    """Refuse what is neither True nor False: the text `no` would count as true."""
    for name, value in values.items():
        if not isinstance(value, bool):
            refuse_argument(name, value, "True or False")


def check_buckets(value: object) -> None:
    """Refuse what is no collection of buckets, each a serialised partition row and a number."""
    expected = (
        "pairs of a partition's bytes and a bucket number, such as `buckets_to_compact` gives"
    )
    if not isinstance(value, Collection) or isinstance(value, str | bytes):
        refuse_argument("buckets", value, expected)
    for bucket in value:
        is_pair = isinstance(bucket, tuple) and len(bucket) == 2 and isinstance(bucket[0], bytes)
        if not is_pair or not _is_whole(bucket[1], low=-2):
            refuse_argument("buckets", bucket, expected)


def check_key_columns(columns: Collection[str], schema: TableSchema) -> None:
    """Refuse columns without the primary key."""
    absent = [name for name in schema.primary_keys if name not in columns]
    if absent:
        refuse_argument("columns", list(columns), f"also the primary key's {', '.join(absent)}")


def chosen_columns(
    columns: Sequence[str] | None, schema: TableSchema, *, what: str
) -> tuple[str, ...]:
    """Return the columns to read: all, or at least one, each once.

    Args:
        columns: Names; None means all.
        schema: The table's schema.
        what: What reads the columns, for the message, such as `a scan`.

    Raises:
        InvalidRequest: `columns` is no list of names, is empty, or repeats a name.
        SchemaMismatch: The table has no such column.
    """
    if columns is None:
        return schema.field_names
    check_names("columns", columns)
    for name in columns:
        schema.field(name)
    if not columns or len(set(columns)) < len(columns):
        problem = Problem(
            field="columns",
            value=", ".join(columns) or None,
            message="expected at least one column, each once",
        )
        message = f"the columns of {what} are invalid"
        raise InvalidRequest(message, problems=[problem])
    return tuple(columns)


def check_writer(
    first_sequence_number: object, buffer_bytes: object, drop_null_columns: object
) -> None:
    """Refuse sequence numbers, buffer sizes and flags of the wrong kind."""
    is_first = _is_whole(first_sequence_number, low=0, high=_FIRST_NUMBER_MAX)
    if first_sequence_number is not None and not is_first:
        refuse_argument(
            "first_sequence_number",
            first_sequence_number,
            "a whole number from 0 to 2**62, or None",
        )
    if not _is_whole(buffer_bytes, low=1):
        refuse_argument("buffer_bytes", buffer_bytes, "a whole number from 1")
    if not isinstance(drop_null_columns, bool):
        refuse_argument("drop_null_columns", drop_null_columns, "True or False")


def check_rows(rows: object, kinds: object) -> None:
    """Refuse rows and kinds that are not Arrow data."""
    if not isinstance(rows, pa.Table | pa.RecordBatch):
        refuse_argument("rows", rows, "a pyarrow Table or RecordBatch")
    if kinds is not None and not isinstance(kinds, pa.Array | pa.ChunkedArray):
        refuse_argument("kinds", kinds, "an int8 pyarrow Array, or None")


def _check_items(name: str, value: object, kind: type, expected: str) -> None:
    """Refuse what is no list of items of one kind; a text is no list of its letters."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        refuse_argument(name, value, expected)
    if not all(isinstance(item, kind) for item in value):
        refuse_argument(name, value, expected)


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_whole(value: object, *, low: int, high: int | None = None) -> bool:
    """Return whether a value is an int within the bounds; True and False do not count."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return low <= value and (high is None or value <= high)
