"""The records of Avro files of any schema."""

from typing import Any

from braid.lake.format.avro.container import decode_block, parsed_schema, read_blocks


def read_records(data: bytes, *, what: str) -> list[dict[str, Any]]:
    """Return the records of a container, in file order.

    Dates, times and decimals are returned as the stored numbers or bytes.

    Raises:
        CorruptData: The bytes are not a container, or end early; `what` is the kind of file.
        UnsupportedFeature: A codec that this version does not support.
    """
    schema, blocks = read_blocks(data, what=what)
    parsed = parsed_schema(schema, what=what)
    return [record for block in blocks for record in decode_block(block, parsed, what=what)]
