"""Operations on the JSON texts of rows that do not decode the rows' values.

They split a list of rows, find fields by name, and lay one row over another.
"""

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Fields: TypeAlias = Mapping[str, msgspec.Raw]

_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode
_ENCODE: Final = msgspec.json.encode


def row_texts(text: bytes) -> list[bytes] | None:
    """Return the items of a JSON list, as they are written; None for null.

    Raises:
        ValueError: The text is no list.
        RecursionError: It is nested too deeply.
    """
    found = _LIST(text)
    return None if found is None else [bytes(item) for item in found]


def may_have_field(rows: pa.BinaryArray, names: Collection[str]) -> npt.NDArray[np.bool_]:
    """Return where JSON texts may have one of some names in them; false for null."""
    found = pc.match_substring(rows, b"\\u")  # a name with escapes
    for name in names:
        found = pc.or_(found, pc.match_substring(rows, name.encode()))
    mask: npt.NDArray[np.bool_] = found.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def has_field(row: bytes | None, names: Collection[str]) -> bool:
    """Return whether a JSON object has one of some fields; false for null.

    Raises:
        ValueError: The text is neither an object nor null.
        RecursionError: It is nested too deeply.
    """
    if row is None or row == b"null":
        return False
    return not _FIELDS(row).keys().isdisjoint(names)


def overlaid(row: bytes, by: bytes) -> bytes:
    """Return a JSON object, in which the fields of another one have their values.

    Raises:
        ValueError: A text is no object.
        RecursionError: It is nested too deeply.
    """
    fields: dict[str, msgspec.Raw] = {**_FIELDS(row), **_FIELDS(by)}
    return b"{%s}" % b",".join(
        _ENCODE(name) + b":" + bytes(value) for name, value in fields.items()
    )
