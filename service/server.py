"""Processes of the service: each sets up log, interpreter and allocator, then runs uvicorn until SIGTERM or Ctrl-C."""

import asyncio
import contextlib
import gc
import logging
import math
import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType

import uvicorn

from braid.lake import ScratchDirectory
from braid.records.outgoing_records import RecordProducer
from braid.records.topic_records import TopicRecordReader
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.console.page_files import page_files
from braid.service.http.arrow_without_pandas import keep_pandas_out_of_arrow
from braid.service.http.certificates import CertificateFiles, Certificates
from braid.service.http.listening_sockets import address_of, check_loopback, listening_sockets
from braid.service.http.process_memory import bound_memory, glibc_mallopt
from braid.service.http.protocol import protocol_with
from braid.service.http.worker_processes import run_workers
from braid.service.metrics import ServiceMetrics
from braid.service.settings import ServiceSettings
from braid.telemetry.logs import LogFormat, change_levels_on_signals, set_up_logs
from braid.telemetry.tracing import is_tracing_wanted, start_tracing
from braid.telemetry.worker_values import share_values

_SWITCH_SECONDS = 0.001
_DRAIN_POLL_SECONDS = 0.1
_END_SECONDS = 10.0  # of a worker, beside the time that its requests have
_DIGITS_MAX = 640  # digits of an integer: the time of parsing grows with the square of the length
_LOG_LEVELS = {"braid.service": logging.INFO}

logger = logging.getLogger(__name__)


def serve(
    settings: ServiceSettings,
    *,
    workers: int = 1,
    make_producer: Callable[[], RecordProducer] | None = None,
    make_topic_records: Callable[[], TopicRecordReader] | None = None,
    log_format: LogFormat = LogFormat.TEXT,
    certificate: CertificateFiles | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; logs to standard error, one line per request.

    Args:
        settings: The settings; bounds of memory and of requests are those of one process, except that of copies in memory,
            which the workers share out.
        workers: Processes that serve; with more than one, this process starts them and ends with them.
        make_producer: Returns the producer of pushed records of one process; can be pickled. None: pushes are refused.
        make_topic_records: Likewise, the reader of the records that explanations show. None: none is shown.
        log_format: Form of the lines of the log.
        certificate: The certificate with which the server speaks TLS. None: it does not.

    Raises:
        InvalidRequest: The server cannot listen at the address, the settings name no warehouse, the certificate cannot be used, or
            other machines could reach a service without access control.
    """
    is_tracing_wanted(os.environ)  # what is missing ends this process, and not only its workers
    if certificate is not None:
        Certificates(certificate)  # likewise
    sockets = listening_sockets(settings.host, settings.port)
    if settings.access is None:
        check_loopback(settings.host, sockets)
    set_up_logs(log_format, _LOG_LEVELS)
    # Any name can be made to resolve to this address (DNS rebinding): only known hosts are served.
    settings = replace(
        settings,
        hosts=settings.hosts or (),
        lookups=replace(
            settings.lookups,
            max_memory_bytes=settings.lookups.max_memory_bytes // workers,
            are_shared=True,
        ),
    )
    scheme = "http" if certificate is None else "https"
    for address in map(address_of, sockets):
        logger.info("listening at %s://%s (Ctrl-C ends it)", scheme, address)
    work = partial(
        _serve, settings, sockets, make_producer, make_topic_records, log_format, certificate
    )
    if workers == 1:
        work(ServiceMetrics)
        return
    directory = ScratchDirectory(name="braid-metrics")
    try:
        run_workers(
            [
                partial(work, partial(_shared_metrics, directory.path, place))
                for place in range(workers)
            ],
            end_seconds=settings.drain_seconds + settings.limits.shutdown_seconds + _END_SECONDS,
        )
    finally:
        directory.close()


def _shared_metrics(directory: str, place: int) -> ServiceMetrics:
    """Return the metrics of a worker."""
    share_values(directory, place)
    return ServiceMetrics(workers_directory=directory)


def _serve(
    settings: ServiceSettings,
    sockets: Sequence[socket.socket],
    make_producer: Callable[[], RecordProducer] | None,
    make_topic_records: Callable[[], TopicRecordReader] | None,
    log_format: LogFormat,
    certificate: CertificateFiles | None,
    make_metrics: Callable[[], ServiceMetrics],
) -> None:
    set_up_logs(log_format, _LOG_LEVELS)  # also in a worker, which is a new process
    change_levels_on_signals(_LOG_LEVELS)
    end_tracing = start_tracing("braid-service", os.environ)
    keep_pandas_out_of_arrow()
    app = create_app(
        settings,
        producer=make_producer and make_producer(),
        topic_records=make_topic_records and make_topic_records(),
        metrics=make_metrics(),
    )
    page_files()  # cached, and made now, so that no request waits for it
    # Threads switch more often than by default (5 ms): /health waits for one interval of each thread.
    sys.setswitchinterval(_SWITCH_SECONDS)
    sys.set_int_max_str_digits(_DIGITS_MAX)
    # The objects created so far stay for good, and collections need not traverse them: each collection
    # stops all threads (some 50 ms without this).
    gc.collect()
    gc.freeze()
    bound_memory(os.environ, glibc_mallopt())
    certificates = None if certificate is None else Certificates(certificate)
    config = uvicorn.Config(
        app,
        http=protocol_with(settings.limits),
        ws="none",  # a connection must not leave the protocol with its bounds
        log_level="info",
        # In JSON its lines are those of all loggers.
        log_config=None if log_format is LogFormat.JSON else uvicorn.config.LOGGING_CONFIG,
        proxy_headers=False,  # nothing depends on the client's address
        access_log=False,  # `braid.service.http.access_log` has the request's id as well
        timeout_graceful_shutdown=math.ceil(settings.limits.shutdown_seconds),
        ssl_context_factory=None if certificates is None else lambda *_: certificates.context,
    )
    with contextlib.suppress(KeyboardInterrupt):
        _Server(config, app, end_tracing, certificates).run(sockets=list(sockets))


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        app: BraidApp,
        end_tracing: Callable[[], None],
        certificates: Certificates | None,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._end_tracing = end_tracing
        self._is_draining = False
        self._certificates = certificates
        self._renewals: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Renew the certificate while the server runs."""
        await super().startup(sockets)
        if self._certificates is not None:
            self._renewals = asyncio.create_task(self._certificates.follow())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the process at the first signal, and the time of draining at the second one."""
        if self._is_draining:
            self._is_draining = False
        else:
            super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve on for a while without being ready, end the subscriptions, and wait until all requests are answered."""
        components = self._app.state.components
        components.lifecycle.end()
        await self._drain(components.settings.drain_seconds)
        components.subscriptions.close()
        await super().shutdown(sockets)
        if self._renewals is not None:
            self._renewals.cancel()
        self._end_tracing()  # here, because uvicorn ends the process with the signal that has stopped it

    async def _drain(self, seconds: float) -> None:
        """Wait until load balancers have noticed that the process is not ready."""
        if not seconds:
            return
        logger.info("not ready any more: requests are answered for %g seconds", seconds)
        loop = asyncio.get_running_loop()
        end_s = loop.time() + seconds
        self._is_draining = True
        while self._is_draining and loop.time() < end_s:  # noqa: ASYNC110 - a signal sets the flag
            await asyncio.sleep(_DRAIN_POLL_SECONDS)
        self._is_draining = False
