"""Classification of requests by method and path.

Each class has a bound of concurrent requests (`admission`). Bulk requests and subscriptions may have larger bodies
(`body_bounds`).
"""

import re

from braid.service.limits import RequestClass

STATE_CHANGING = frozenset({"DELETE", "PATCH", "POST", "PUT"})

_CONSOLE = re.compile(r"/|/console(/.*)?")
_SUBSCRIPTION = re.compile(r"/v1/tables/[^/]+/[^/]+/rows/events")
_PUSH = re.compile(r"/v1/tables/[^/]+/[^/]+/streams/[^/]+/records")
_BULK = re.compile(
    r"/v1/declarations(:import|:validate)?|/v1/tables/[^/]+/[^/]+"
    r"(:test|/(rows/(lookup|scan|explain|outcomes|certificate)|completeness|views/[^/]+/lookup|changes|indexes/[^/]+/rows|inspect/[^/]+|streams/[^/]+/dead-letters))"
)
_ONLY_READS = re.compile(
    r"/v1/declarations:validate|/v1/streams:[^/]+/validate"
    r"|/v1/tables/[^/]+/[^/]+(:test|/(.+/)?validate(-patch|-delete)?|/rows/(lookup|scan|explain|events)|/views/[^/]+/lookup)"
)


def is_remembered(method: str, path: str) -> bool:
    """Return whether the answer to a request with an idempotency key is remembered in the warehouse.

    That holds for each POST but those that only read, and pushes, whose answers Kafka has.

    >>> is_remembered("POST", "/v1/tables/shop/orders/streams/sales/stop")
    True
    """
    return (
        method == "POST"
        and not _ONLY_READS.fullmatch(path)
        and class_of(method, path) is not RequestClass.PUSH
    )


def class_of(method: str, path: str) -> RequestClass | None:
    """Return the class of a request; None if it needs no bound because it never waits.

    >>> [class_of("GET", path) for path in ("/health", "/console/", "/ready", "/v1/tables")]
    [None, None, <RequestClass.PROBE: 'probe'>, <RequestClass.READ: 'read'>]
    """
    if path == "/health" or _CONSOLE.fullmatch(path):
        return None
    if path in ("/ready", "/metrics"):
        return RequestClass.PROBE
    if _SUBSCRIPTION.fullmatch(path):
        return RequestClass.SUBSCRIPTION
    if _PUSH.fullmatch(path):
        return RequestClass.PUSH
    if _BULK.fullmatch(path):
        return RequestClass.BULK
    return RequestClass.WRITE if method in STATE_CHANGING else RequestClass.READ
