"""Files that Paimon itself wrote (2.0.0 unless the name says otherwise), as bytes."""

from pathlib import Path

_DIRECTORY = Path(__file__).parent / "data"


def java_file(name: str) -> bytes:
    return (_DIRECTORY / name).read_bytes()


def avro_schema_text(data: bytes) -> bytes:
    """Return the schema in the header of an Avro file, as written."""
    start = data.index(b'{"type"')
    depth = 0
    for index in range(start, len(data)):
        depth += {ord("{"): 1, ord("}"): -1}.get(data[index], 0)
        if depth == 0:
            return data[start : index + 1]
    raise AssertionError("no schema")
