"""The service as a process: uvicorn until SIGTERM or Ctrl-C."""

import uvicorn

from service.app import create_app
from service.settings import ServiceSettings


def serve(settings: ServiceSettings) -> None:
    """Serve until the process is asked to end."""
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_level="info",
        access_log=False,
    )
