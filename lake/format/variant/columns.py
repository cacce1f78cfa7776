"""Columns of VARIANT values, from and to columns of JSON texts."""

import pyarrow as pa

from braid.lake.format.arrow_types import VARIANT_TYPE
from braid.lake.format.variant.from_json import NotVariant, variant_of_json
from braid.lake.format.variant.to_json import json_of_variant


def variants_of_json(texts: pa.Array | pa.ChunkedArray) -> pa.StructArray:
    """Return the value of each JSON text, in the Arrow form of VARIANT; null for null.

    The JSON text `null` is a value, not null.

    Raises:
        NotVariant: A text is not JSON, or no value can be made of it; the message has its index.
    """
    values: list[bytes] = []
    dictionaries: list[bytes] = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            value, metadata = (b"", b"") if text is None else variant_of_json(text)
        except NotVariant as error:
            message = f"text {index}: {error}"
            raise NotVariant(message) from error
        values.append(value)
        dictionaries.append(metadata)
    parts = [pa.array(values, pa.binary()), pa.array(dictionaries, pa.binary())]
    mask = pa.array(texts.is_null().to_pylist(), pa.bool_()) if texts.null_count else None
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT_TYPE), mask=mask)


def json_of_variants(values: pa.Array | pa.ChunkedArray) -> pa.StringArray:
    """Return each value as JSON; null for null.

    Args:
        values: A column in the Arrow form of VARIANT.

    Raises:
        CorruptData: The bytes are no value.
        UnsupportedFeature: As `json_of_variant`.
    """
    texts = [
        None if value is None else json_of_variant(value["value"], value["metadata"])
        for value in values.to_pylist()
    ]
    return pa.array(texts, pa.string())
