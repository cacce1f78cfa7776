"""Traces of requests and micro-batches by OpenTelemetry, where it is installed and has an address; else nothing of it is imported.

`span` costs a comparison while nobody traces. While a process logs at the level DEBUG, the duration of each span is logged.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any, Final

from braid.lake import FileIO, InvalidRequest

_ADDRESSES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_OFF: Final = ("OTEL_SDK_DISABLED", "true")
_PACKAGES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_STORAGE_CALLS: Final = frozenset(
    {
        "create_exclusive",
        "delete",
        "exists",
        "list",
        "list_tree",
        "open_input",
        "open_output",
        "overwrite",
        "read_bytes",
        "read_range",
        "size",
        "write_new",
    }
)

logger = logging.getLogger(__name__)


class _Tracer:
    """The tracer of this process; None: nobody traces."""

    current: Any = None


def start_tracing(service: str, environment: Mapping[str, str]) -> Callable[[], None]:
    """Trace from now on if the environment has an address for traces; return the function that ends it.

    Args:
        service: Name of the process in traces, unless `OTEL_SERVICE_NAME` names it.
        environment: Environment variables by name, as OpenTelemetry defines them.

    Raises:
        InvalidRequest: There is an address, and the packages are not installed.
    """
    if not is_tracing_wanted(environment):
        return lambda: None
    # Here, not above: whoever does not trace loads nothing of it.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    named = environment.get("OTEL_SERVICE_NAME") or service
    provider = TracerProvider(resource=Resource.create({"service.name": named}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return trace_with(provider)


def is_tracing_wanted(environment: Mapping[str, str]) -> bool:
    """Return whether the environment has an address for traces.

    Raises:
        InvalidRequest: It has one, and the packages are not installed.
    """
    name, value = _OFF
    if not any(environment.get(one) for one in _ADDRESSES) or environment.get(name) == value:
        return False
    if not all(map(_is_installed, _PACKAGES)):
        message = (
            f"{_ADDRESSES[0]} is set, and OpenTelemetry is not installed\n"
            "hint: pip install 'braid-lake[tracing]', or unset the variable"
        )
        raise InvalidRequest(message)
    return True


def trace_with(provider: Any) -> Callable[[], None]:
    """Trace from now on with a tracer provider of OpenTelemetry's SDK; return the function that ends it and sends what is left."""
    tracer = _Tracer.current = provider.get_tracer("braid")

    def end() -> None:
        if _Tracer.current is tracer:
            _Tracer.current = None
        provider.shutdown()

    return end


def is_tracing() -> bool:
    """Return whether this process traces."""
    return _Tracer.current is not None


def span(name: str, /, **attributes: str | int | bool) -> AbstractContextManager[object]:
    """Return a context that is a part of the current trace.

    Args:
        name: What is done.
        attributes: What it is done to; neither keys nor values of rows.
    """
    if _Tracer.current is None:
        return _logged(name, attributes) if logger.isEnabledFor(logging.DEBUG) else _NOTHING
    return _Tracer.current.start_as_current_span(name, attributes=attributes)  # type: ignore[no-any-return]


@contextmanager
def request_span(
    name: str, headers: Mapping[str, str], attributes: Mapping[str, str]
) -> Iterator[Any]:
    """Begin the part of a trace that is about a request, which continues the trace that its header `traceparent` names.

    Requires: this process traces.

    Yields:
        The span, of which name, attributes and status can still be set.
    """
    from opentelemetry.propagate import extract  # noqa: PLC0415 - loaded with the tracer
    from opentelemetry.trace import SpanKind  # noqa: PLC0415

    with _Tracer.current.start_as_current_span(
        name, context=extract(headers), kind=SpanKind.SERVER, attributes=attributes
    ) as current:
        yield current


def traced_storage(file_io: FileIO) -> FileIO:
    """Return storage of which each call is a span, while this process traces; else the storage itself."""
    return _TracedStorage(file_io) if is_tracing() else file_io


class _TracedStorage:
    """Storage that passes on every call."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._file_io, name)
        if name not in _STORAGE_CALLS:
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            with span(f"storage {name}"):
                return attribute(*arguments, **options)

        return call


@contextmanager
def _logged(name: str, attributes: Mapping[str, object]) -> Iterator[None]:
    begun_s = time.perf_counter()
    try:
        yield
    finally:
        what = " ".join([name, *(f"{key}={value}" for key, value in attributes.items())])
        logger.debug("%s duration_ms=%.1f", what, (time.perf_counter() - begun_s) * 1_000)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of a package that contains it
        return False
