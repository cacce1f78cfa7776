"""Exact texts: numbers in text columns as they were written, for the few records whose texts need it.

A text column accepts any JSON value as its text, and Spark copies numbers with a fraction or an exponent
through a double (`json.inexact_text` marks such records in the JVM). Here the message of a marked record is
parsed again, with every number kept as its text. Only texts with such numbers are replaced; all other values
stay as Spark read them. Records with an unpaired surrogate in a declared value are refused.
"""

import json
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.mapped_column import MappedColumn
from braid.formats.unpaired_surrogates import holds_unpaired_surrogate
from braid.lake import DataType, TypeRoot
from braid.pipelines.json.inexact_text import holds_text
from braid.pipelines.partition_names import is_long_directory
from braid.pipelines.record_columns import (
    INEXACT,
    PARTITION_TOO_LONG,
    RAW_VALUE,
    REASON,
    UNPARSABLE,
    value_column,
)
from braid.pipelines.sink.row_refusal import refuse_rows, replace_columns
from braid.pipelines.stream_plan import StreamPlan

_FRACTIONAL: Final = frozenset(".eE")
"""A number with one of these is copied through a double by Spark."""


def with_exact_texts(batch: pa.RecordBatch, plan: StreamPlan) -> pa.RecordBatch:
    """Return parsed records with numbers in text columns as they were written.

    Args:
        batch: A batch that `parse.RecordParser` returns.
        plan: The stream.

    Returns:
        The same number of rows, in the same order. Rows are refused whose text is too long as it was
        written or has an unpaired surrogate, and rows that Python's parser does not accept as JSON.
    """
    if INEXACT not in batch.schema.names:
        return batch
    marked = pc.and_(batch.column(REASON).is_null(), batch.column(INEXACT))
    rows = np.flatnonzero(marked.to_numpy(zero_copy_only=False))
    if not len(rows):
        return batch
    texts = {
        index: column
        for index, column in enumerate(plan.columns)
        if holds_text(column.type) and not column.from_key
    }
    taken = batch.take(pa.array(rows))
    values = {index: taken.column(value_column(index)).to_pylist() for index in texts}
    # `values` counts among the marked rows, `refusals` among all rows of the batch.
    refusals: dict[int, tuple[str, str | None]] = {}
    for place, raw in enumerate(taken.column(RAW_VALUE).to_pylist()):
        try:
            message = _read(raw)
        except (ValueError, RecursionError):
            refusals[int(rows[place])] = (UNPARSABLE, None)
            continue
        half = next(
            (
                c
                for c in plan.value_columns
                if holds_unpaired_surrogate(_value_at(message, c), c.type)
            ),
            None,
        )
        if half is not None:
            refusals[int(rows[place])] = (DeadLetterReason.WRONG_TYPE.value, half.name)
            continue
        for index, column in texts.items():
            try:
                found = _exact(_value_at(message, column), column.type, values[index][place])
            except _TooLongError:
                refusals[int(rows[place])] = (DeadLetterReason.OUT_OF_RANGE.value, column.name)
                break
            values[index][place] = found
            is_name = column.name in plan.partition_keys and isinstance(found, str)
            if is_name and is_long_directory(column.name, found):
                refusals[int(rows[place])] = (PARTITION_TOO_LONG, column.name)
                break
    # New values are appended to the old ones, and one `take` puts each in the place of its row: marked rows
    # are few, and rebuilding the columns in Python would touch every row.
    order = np.arange(batch.num_rows)
    order[rows] = batch.num_rows + np.arange(len(rows))
    changed = {}
    for index in texts:
        name = value_column(index)
        old = batch.column(name)
        new = pa.array(values[index], type=old.type)
        assert len(new) == len(rows), "each marked row has its value"
        changed[name] = pa.concat_arrays([old, new]).take(pa.array(order))
    return replace_columns(refuse_rows(batch, refusals), changed)


class _TooLongError(Exception):
    """A text is longer than its column allows."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


class _Object(dict[str, Any]):
    """An object that keeps its fields as they were written: in their order, repeated names included."""

    pairs: tuple[tuple[str, Any], ...] = ()


def _read(value: bytes) -> Any:
    def named(pairs: list[tuple[str, Any]]) -> _Object:
        made = _Object(pairs)
        made.pairs = tuple(pairs)
        return made

    return json.loads(
        value.decode("utf-8"),
        parse_int=_Number,
        parse_float=_Number,
        # NaN and infinities: Spark gives their names as texts, in quotes inside of arrays and objects.
        parse_constant=lambda text: _Number(f'"{text}"'),
        object_pairs_hook=named,
    )


def _value_at(message: Any, column: MappedColumn) -> Any:
    value = message
    for name in column.path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _exact(value: Any, data_type: DataType, read: Any) -> Any:
    """Return a value as Spark read it, with numbers in its texts as they were written.

    Args:
        value: The value in the message.
        data_type: The type of the column, or of a part of it.
        read: The value as Spark read it.

    Raises:
        _TooLongError: A text is too long as it was written.
    """
    # Where Spark has read no value there is none to correct: Spark decides what counts as a value.
    if value is None or read is None or not holds_text(data_type):
        return read
    match data_type.root:
        case TypeRoot.ARRAY if data_type.element is not None:
            pairs = zip(value, read, strict=True)
            return [_exact(item, data_type.element, old) for item, old in pairs]
        case TypeRoot.MAP if data_type.value is not None:
            return [(name, _exact(value.get(name), data_type.value, old)) for name, old in read]
        case TypeRoot.ROW:
            return {
                field.name: _exact(value.get(field.name), field.type, read[field.name])
                for field in data_type.fields
            }
        case _:
            return _text(value, data_type, read)


def _text(value: Any, data_type: DataType, read: str) -> str:
    is_fractional = isinstance(value, _Number) and not _FRACTIONAL.isdisjoint(value)
    if not is_fractional and not isinstance(value, list | dict):
        return read
    text = _json(value)
    if data_type.length is not None and len(text) > data_type.length:
        raise _TooLongError
    return text


def _json(value: Any) -> str:
    """Return a value as JSON without blanks, which is how Spark writes arrays and objects as texts."""
    match value:
        case _Number():
            return str(value)
        case list():
            return f"[{','.join(map(_json, value))}]"
        case _Object():
            fields = (f"{_json(name)}:{_json(item)}" for name, item in value.pairs)
            return f"{{{','.join(fields)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)
