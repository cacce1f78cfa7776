"""A batch is parted from the ids of its schemas as its messages are one by one."""

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.formats.wire_format import HEADER_BYTES, split_header, split_headers

HEADERS = st.binary(min_size=HEADER_BYTES - 1, max_size=HEADER_BYTES - 1).map(
    lambda id_: b"\0" + id_
)
MESSAGES = st.one_of(
    st.none(),
    st.binary(max_size=8),
    st.builds(lambda header, body: header + body, HEADERS, st.binary(max_size=300)),
)


def parted(message: bytes | None) -> tuple[tuple[int, bytes | None], str | None]:
    """Return the id and the body of one message, and its fault."""
    if message is None:
        return (-1, None), None
    try:
        return split_header(message), None
    except ValueError as error:
        return (-1, None), str(error)


@settings(max_examples=150)
@given(messages=st.lists(MESSAGES, max_size=20), first=st.integers(0, 4))
def test_a_batch_is_parted_as_its_messages_are(messages: list[bytes | None], first: int) -> None:
    found = split_headers(pa.array(messages, pa.binary())[first:])

    for row, message in enumerate(messages[first:]):
        expected, fault = parted(message)
        assert (int(found.ids[row]), found.bodies[row].as_py()) == expected
        assert (found.faults[row].message if row in found.faults else None) == fault
    found.bodies.validate(full=True)
