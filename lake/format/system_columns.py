"""System columns: the columns of a data file that its table does not have; and the kinds of rows.

| column | Arrow type | field id | meaning |
|---|---|---|---|
| `_KEY_<name>` | as the key column, not null | 1073741823 + id | a copy of a key column; absent in thin mode |
| `_SEQUENCE_NUMBER` | int64, not null | 2147483646 | order of arrival within a bucket |
| `_VALUE_KIND` | int8, not null | 2147483645 | `RowKind` |

`_LEVEL` (int32, not null) is not in files: readers add it to records that are merged by level. A
user's column cannot have the name of a system column, nor the names `rowkind` and `_ROW_ID`
(`is_reserved`).

Source: table-format 12.1 and 12.2.
"""

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

KEY_PREFIX = "_KEY_"
SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"
LEVEL = "_LEVEL"

KEY_FIELD_ID_START = 1_073_741_823
SEQUENCE_NUMBER_FIELD_ID = 2_147_483_646
VALUE_KIND_FIELD_ID = 2_147_483_645

# Names that a user's column cannot have (table-format 2). Other engines add columns of the last two names to
# rows; here the kind of a row is in `VALUE_KIND`.
RESERVED_NAMES = frozenset({SEQUENCE_NUMBER, VALUE_KIND, LEVEL, "rowkind", "_ROW_ID"})

SEQUENCE_NUMBER_FIELD = pa.field(SEQUENCE_NUMBER, pa.int64(), nullable=False)
VALUE_KIND_FIELD = pa.field(VALUE_KIND, pa.int8(), nullable=False)
LEVEL_FIELD = pa.field(LEVEL, pa.int32(), nullable=False)


class RowKind(IntEnum):
    """The effect of a record on its key; the value is the byte in `_VALUE_KIND`."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def symbol(self) -> str:
        """Return `+I`, `-U`, `+U` or `-D`."""
        return ("+I", "-U", "+U", "-D")[self]

    @property
    def is_retract(self) -> bool:
        """Return whether the record retracts a row (`-U`, `-D`)."""
        return self in (RowKind.UPDATE_BEFORE, RowKind.DELETE)

    @classmethod
    def from_symbol(cls, symbol: str) -> "RowKind":
        """Return the kind written as `+I`, `-U`, `+U` or `-D`; ValueError otherwise."""
        return cls(("+I", "-U", "+U", "-D").index(symbol))


def is_retract(kinds: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return one boolean per row kind, true for retracts (`-U`, `-D`).

    Args:
        kinds: Values of `_VALUE_KIND`.
    """
    # The lowest bit distinguishes them: +I is 0, -U 1, +U 2, -D 3.
    retracts: npt.NDArray[np.bool_] = (kinds & 1) == 1
    return retracts


def is_reserved(name: str) -> bool:
    """Return whether a user's column cannot have the name."""
    return name in RESERVED_NAMES or name.startswith(KEY_PREFIX)
