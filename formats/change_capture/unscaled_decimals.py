"""Reader of unscaled decimals: Kafka Connect writes a decimal to JSON as its unscaled value in base64.

In place of this text there may be an object, `{"scale": 2, "value": "Aec="}`, from databases whose decimals have no declared
scale. `replace_value` replaces one value in the tree of a message; the readers of other types use it as well.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.json.exact_values import ValueFault, exact_value, expected_form, shown
from braid.formats.json.message import written_number
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.lake import parse_type, to_arrow_type

_TEXT: Final = parse_type("STRING")
_BYTES_MAX: Final = 100  # of an unscaled value
_SCALE_MAX: Final = 1_000
_WIDE: Final = Context(prec=1_000)


class _DecimalsReader:
    """Reads messages, some of whose columns have unscaled decimals."""

    def __init__(
        self, columns: Sequence[MappedColumn], scales: Mapping[str, int], messages: MessageReader
    ) -> None:
        self._decimals = [
            (index, column, scales[column.name])
            for index, column in enumerate(columns)
            if column.name in scales
        ]
        self._messages = messages

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        found = self._messages.read(payloads)
        arrays = list(found.arrays)
        for index, column, scale in self._decimals:
            arrays[index] = _decimals(arrays[index], column, scale, found.faults)
        return replace(found, arrays=arrays)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`); decimals are numbers."""
        found = self._messages.tree(payload)
        for _, column, scale in self._decimals:
            replace_value(found, column.path, partial(_number, scale=scale))
        return found


def replace_value(tree: Any, path: Sequence[str], new: Callable[[Any], Any]) -> None:
    """Replace the value at a path through the objects of a message, where there is one.

    Args:
        tree: The message, as `MessageReader.tree` returns it; it is changed.
        path: Names from the message to the field.
        new: Returns the new value for the old one.
    """
    *around, name = path
    for one in around:
        tree = tree.get(one) if isinstance(tree, dict) else None
    if isinstance(tree, dict) and name in tree:
        tree[name] = new(tree[name])


def reader_with_decimals(
    columns: Sequence[MappedColumn],
    scales: Mapping[str, int],
    reader_of: Callable[[Sequence[MappedColumn]], MessageReader],
) -> MessageReader:
    """Return the reader of columns.

    Args:
        columns: The columns.
        scales: By name of each column with unscaled decimals, the scale of its texts.
        reader_of: Returns the reader of columns without unscaled decimals.
    """
    if not scales:
        return reader_of(columns)
    plain = [replace(one, type=_TEXT) if one.name in scales else one for one in columns]
    return _DecimalsReader(columns, scales, reader_of(plain))


def _decimals(texts: pa.StringArray, column: MappedColumn, scale: int, faults: Faults) -> pa.Array:
    values: list[Decimal | None] = []
    for row, text in enumerate(texts.to_pylist()):
        value = None
        if text is not None and row not in faults:
            try:
                value = exact_value(_decimal(text, scale), column.type)
            except (ValueFault, ValueError, TypeError) as error:
                reason = (
                    error.reason if isinstance(error, ValueFault) else DeadLetterReason.WRONG_TYPE
                )
                message = (
                    f"field {column.address}: found {shown(text)}, expected "
                    f"{expected_form(column.type)}, written as its unscaled value in base64, for {column.purpose}"
                )
                faults.add(row, Fault(reason, message))
        values.append(value)
    return pa.array(values, to_arrow_type(column.type))


def _number(value: Any, scale: int) -> Any:
    """Return the number of a value of a message; one that is no unscaled decimal stays as it is."""
    try:
        return _decimal(json.dumps(value) if isinstance(value, dict) else value, scale)
    except (ValueError, TypeError, AttributeError):
        return value


def _decimal(text: str, scale: int) -> Any:
    """Return the number of a text, as `json.message.read_message` returns numbers.

    Raises:
        ValueError: It is none.
        TypeError: It is an object without scale and value.
    """
    if text.startswith("{"):
        found = json.loads(text)
        text, own = found.get("value"), found.get("scale")
        if not isinstance(own, int) or isinstance(own, bool) or abs(own) > _SCALE_MAX:
            message = "no scale"
            raise ValueError(message)
        scale = own
    unscaled = base64.b64decode(text, validate=True)
    if not 0 < len(unscaled) <= _BYTES_MAX:
        message = "no number"
        raise ValueError(message)
    number = Decimal(int.from_bytes(unscaled, "big", signed=True))
    return written_number(f"{_WIDE.scaleb(number, -scale):f}")
