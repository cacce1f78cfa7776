"""Probes: `/health` shows that the process runs, `/ready` that the warehouse is usable."""

from importlib.metadata import version

from fastapi import APIRouter

from braid.lake import LakeError
from braid.schemas.api import Health, Readiness
from braid.service.components import Components
from braid.service.dependencies import ComponentsOf
from braid.service.problems.error_handlers import NotReady

_VERSION = version("braid-lake")

router = APIRouter(tags=["health"])


@router.get("/health")
async def get_health(components: ComponentsOf) -> Health:
    """Return that the process is running; uses no storage and waits for no thread."""
    uptime_ms = components.clock.now_ms() - components.started_ms
    return Health(version=_VERSION, uptime_seconds=uptime_ms / 1000)


@router.get("/ready")
def get_ready(components: ComponentsOf) -> Readiness:
    """Test the warehouse, which has to exist: a file is created, refused a second time, and deleted. Not ready once the process ends."""
    components.lifecycle.check()
    _probe(components)
    return Readiness()


def _probe(components: Components) -> None:
    warehouse = components.settings.warehouse
    try:
        if not components.file_io.has_directory(warehouse):
            # The test would create it, and a missing mount would look like an empty warehouse.
            message = f"the warehouse {warehouse} does not exist"
            raise NotReady(message)
        components.file_io.probe_exclusive_create(components.settings.warehouse)
        components.registry.identifiers()
    except (LakeError, OSError) as error:
        message = f"the warehouse {components.settings.warehouse} is not usable: {error}"
        raise NotReady(message) from error
