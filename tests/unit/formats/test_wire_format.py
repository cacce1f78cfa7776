"""Messages are parted from the ids of their schemas; those without an id of the right kind get a fault."""

import numpy as np
import pyarrow as pa
import pytest

from braid.formats.schema_registry.schema_source import SchemaKind
from braid.formats.wire_format import read_schemas, split_header, split_headers
from braid.lake import StorageUnavailable
from tests.support.given_schemas import DOWN, GivenSchemas, framed


def payloads(*messages: bytes | None) -> pa.BinaryArray:
    return pa.array(messages, pa.binary())


def test_messages_are_parted_from_their_ids() -> None:
    found = split_headers(payloads(framed(7, b"a"), None, framed(2**32 - 1, b""), framed(7, b"\0")))

    assert found.ids.tolist() == [7, -1, 2**32 - 1, 7]
    assert found.bodies.to_pylist() == [b"a", None, b"", b"\0"]
    assert len(found.faults) == 0


def test_messages_without_a_header_are_told() -> None:
    found = split_headers(payloads(b'{"id": 1}', b"", b"\0\0\0\0", framed(7, b"x")))

    assert found.ids.tolist() == [-1, -1, -1, 7]
    assert found.bodies.to_pylist() == [None, None, None, b"x"]
    assert [found.faults[row].message for row in found.faults.rows] == [
        "found the first byte 0x7b, expected 0x00 and the id of the message's schema",
        "found no bytes, expected a message that begins with the id of its schema",
        "found 4 bytes, expected 0x00, the id of a schema and a message",
    ]


@pytest.mark.parametrize("part", [slice(0, 0), slice(1, 4), slice(2, None)])
def test_a_part_of_an_array_is_read_like_a_whole(part: slice) -> None:
    messages = [framed(1, b"a"), None, b"x", framed(2, b"bc"), framed(3, b"")]

    found = split_headers(payloads(*messages)[part])

    whole = split_headers(payloads(*messages[part]))
    assert np.array_equal(found.ids, whole.ids)
    assert found.bodies.equals(whole.bodies)
    assert found.faults.rows == whole.faults.rows


def test_one_message_is_parted_as_many_are() -> None:
    assert split_header(framed(7, b"a")) == (7, b"a")
    for message in (b"", b"\0\0\0\0", b"{}{}{}"):
        with pytest.raises(ValueError, match=r"found .*, expected"):
            split_header(message)


def test_each_schema_is_asked_for_once_and_has_to_be_of_the_kind() -> None:
    schemas = GivenSchemas({2: SchemaKind.JSON, 3: SchemaKind.AVRO})
    messages = split_headers(
        payloads(framed(2, b"a"), framed(3, b"b"), framed(2, b"c"), framed(200, b"d"), b"e")
    )

    found = read_schemas(messages, schemas, SchemaKind.JSON)

    assert list(found) == [2]
    assert schemas.asked == [2, 3, 200]
    assert [messages.faults[row].message for row in (1, 3)] == [
        "the schema of id 3 is of the kind AVRO, expected JSON",
        "the schema registry has no schema of id 200",
    ]
    assert messages.faults.rows == [1, 3, 4]


def test_a_registry_that_does_not_answer_judges_no_message() -> None:
    with pytest.raises(StorageUnavailable):
        read_schemas(split_headers(payloads(framed(DOWN, b""))), GivenSchemas({}), SchemaKind.JSON)


def test_few_long_messages_among_many_short_and_missing_ones_stay_whole() -> None:
    long = framed(9, b"x" * 10_000)

    found = split_headers(payloads(*[None] * 3_000, long, *[b""] * 3_000, long))

    assert found.bodies.drop_null().to_pylist() == [long[5:]] * 2
    assert found.bodies.null_count == 6_000
