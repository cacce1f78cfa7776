"""Constants and defaults of columns: values from a stream's declaration. A default is used if a message does not have the field.

They have the same form as in JSON messages: DECIMALs may be texts, dates and times are ISO 8601, bytes are base64.
"""

import json
from typing import Any

import pyarrow as pa

from braid.formats.json.exact_values import exact_value
from braid.formats.json.message import read_message
from braid.lake import DataType, to_arrow_type
from braid.schemas import Scalar


def declared_value(value: Scalar, data_type: DataType) -> pa.Scalar:
    """Return a declared value in the Arrow form of a column's type.

    Raises:
        ValueFault: It does not fit the type.
    """
    # By way of a text, so that a number has the digits that it was written with.
    read: Any = read_message(json.dumps(value).encode())
    (found,) = pa.array([exact_value(read, data_type)], to_arrow_type(data_type))
    return found
