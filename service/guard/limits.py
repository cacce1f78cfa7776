"""Bounds of requests: of one, and of all at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RequestClass(StrEnum):
    """Requests that share one bound, so that no kind of them keeps the others waiting."""

    READ = "read"
    WRITE = "write"
    BULK = "bulk"  # many rows at once, or a look at every file
    PROBE = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLimits:
    """How many requests of a class are worked on at once.

    Attributes:
        running: At once.
        waiting: More wait; what comes on top is answered 503 at once.
        wait_seconds: The longest wait; then 503.
    """

    running: int
    waiting: int
    wait_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How large a body is.

    Attributes:
        bytes: At most.
        values: JSON's commas and colons outside of texts, at most: what parsing and checking cost.
        depth: Brackets that are open at once, at most.
    """

    bytes: int
    values: int
    depth: int = 32


# Together they are fewer than the threads that run them (40): each class always finds one.
_CLASSES: Mapping[RequestClass, ClassLimits] = {
    RequestClass.READ: ClassLimits(running=20, waiting=200),
    RequestClass.WRITE: ClassLimits(running=8, waiting=64),
    RequestClass.BULK: ClassLimits(running=6, waiting=32),
    RequestClass.PROBE: ClassLimits(running=2, waiting=8),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Bounds of a service process.

    Attributes:
        body: Of a request.
        bulk_body: Of a request of the class `bulk`.
        buffered_bytes: Bodies that are held at once, of all requests.
        discarded_bytes: Of a body that is too large, so much is read and thrown away, so that its
            sender comes to read the answer.
        head_bytes: The request line and the headers.
        head_seconds: In which they have to come.
        body_seconds: In which the body has to come.
        write_seconds: In which a client has to go on reading its answer.
        connections: At once; more are closed.
        classes: Requests at once, by class.
    """

    body: BodyLimits = field(default_factory=lambda: BodyLimits(bytes=1 << 20, values=60_000))
    bulk_body: BodyLimits = field(default_factory=lambda: BodyLimits(bytes=4 << 20, values=120_000))
    buffered_bytes: int = 64 << 20
    discarded_bytes: int = 8 << 20
    head_bytes: int = 16 << 10
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    write_seconds: float = 60.0
    connections: int = 1_000
    classes: Mapping[RequestClass, ClassLimits] = field(default_factory=lambda: dict(_CLASSES))
