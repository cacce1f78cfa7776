"""Bounds of single requests, and of all requests of a process at once.

docs/decisions/0036-bounds-of-requests.md has the reasons for most of them. Other modules have the bounds of digits
(`server`), of problems in one body (`checked_body`) and of small chunks (`http/protocol`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from braid.schemas import ProblemCode

ROWS_BYTES_MAX: Final = 32 << 20
"""Bytes of the rows of one answer; six such answers are made at once."""


class RequestClass(StrEnum):
    """Requests that share one bound, so that no class makes another one wait."""

    READ = "read"
    WRITE = "write"
    BULK = "bulk"  # many rows at once, metadata of every file, tests, or letters that a runner reads meanwhile
    PUSH = "push"  # records that wait for the brokers of a Kafka cluster
    PROBE = "probe"
    SUBSCRIPTION = "subscription"  # answers without end, which wait for changes and not for storage


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLimits:
    """Bounds of a class of requests.

    Attributes:
        running: Requests that run at once.
        waiting: Requests that wait; further ones are refused at once.
        wait_seconds: The longest wait, after which a request is answered 503.
        refusal: The problem of a request that is refused at once.
        retry_after: Seconds after which a refused client may try again.
    """

    running: int
    waiting: int
    wait_seconds: float = 10.0
    refusal: ProblemCode = ProblemCode.TOO_MANY_REQUESTS
    retry_after: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """Upper bounds of a body.

    Attributes:
        bytes: Size of the body.
        values: Number of commas and colons outside of strings, with which the cost of parsing grows.
        depth: Number of brackets that are open at once.
    """

    bytes: int
    values: int
    depth: int = 32


# The sum is below the number of the framework's threads (40), so that each class always finds a thread. Subscriptions have
# threads of their own, and leave connections to other requests.
_CLASSES: Mapping[RequestClass, ClassLimits] = {
    RequestClass.READ: ClassLimits(running=20, waiting=200),
    RequestClass.WRITE: ClassLimits(running=8, waiting=64),
    RequestClass.BULK: ClassLimits(running=6, waiting=32),
    RequestClass.PUSH: ClassLimits(running=3, waiting=32),
    RequestClass.PROBE: ClassLimits(running=2, waiting=8),
    RequestClass.SUBSCRIPTION: ClassLimits(
        running=500, waiting=0, refusal=ProblemCode.TOO_MANY_SUBSCRIPTIONS, retry_after=10
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Bounds of a service process.

    Attributes:
        body: Bounds of a body.
        bulk_body: Bounds of the body of a request of the classes `bulk` and `subscription`.
        buffered_bytes: Bytes of the bodies of all current requests.
        discarded_bytes: Bytes of a refused body that are read and discarded, so that its sender can
            read the answer.
        head_bytes: Size of the request line and the headers.
        head_seconds: Time in which request line and headers have to arrive.
        body_seconds: Time in which the body has to arrive.
        write_seconds: Longest pause of a client in reading its answer.
        heartbeat_seconds: The longest time without an event of a subscription.
        snapshot_wait_seconds: The longest wait for a snapshot that a request demands.
        snapshot_waits: Requests that wait for snapshots or dead letters at once, without slots of their classes; further ones are refused.
        repeat_wait_seconds: The longest wait of a repeated request for the answer to the first one with its idempotency key.
        shutdown_seconds: Time in which requests have to be answered once the process ends.
        letter_wait_seconds: The longest wait for a runner that lists dead letters.
        connections: Open connections; further ones are closed.
        classes: Bounds of requests by class.
    """

    body: BodyLimits = field(default_factory=lambda: BodyLimits(bytes=1 << 20, values=60_000))
    bulk_body: BodyLimits = field(default_factory=lambda: BodyLimits(bytes=4 << 20, values=120_000))
    buffered_bytes: int = 64 << 20
    discarded_bytes: int = 8 << 20
    head_bytes: int = 16 << 10
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    write_seconds: float = 60.0
    heartbeat_seconds: float = 15.0
    snapshot_wait_seconds: float = 2.0
    snapshot_waits: int = 500
    letter_wait_seconds: float = 10.0
    repeat_wait_seconds: float = 5.0
    shutdown_seconds: float = 20.0
    connections: int = 1_000
    classes: Mapping[RequestClass, ClassLimits] = field(default_factory=lambda: dict(_CLASSES))
