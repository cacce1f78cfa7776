"""Values that captured changes leave out: large values that a change did not touch; a placeholder is sent instead.

Pure. If the placeholder were read as null, it would remove the value of the row. So a column that can get a
placeholder has to be kept by its sequence group, or has to declare `on_missing`.
"""

from typing import Final

from braid.lake import DataType, TypeRoot
from braid.schemas import DebeziumFormat, MessageFormat

_LARGE: Final = (
    TypeRoot.CHAR,
    TypeRoot.VARCHAR,
    TypeRoot.BINARY,
    TypeRoot.VARBINARY,
    TypeRoot.ARRAY,
    TypeRoot.MAP,
    TypeRoot.ROW,
    TypeRoot.VARIANT,
)
"""Types whose values a database stores apart from the row when they are large."""


def leaves_out_values(declared: MessageFormat) -> bool:
    """Return whether messages of a format can have placeholders."""
    return isinstance(declared, DebeziumFormat) and declared.database.leaves_out_values


def is_large(data_type: DataType) -> bool:
    """Return whether values of a type can be large enough to be left out."""
    return data_type.root in _LARGE
