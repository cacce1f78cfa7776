"""Route of the metrics, as texts that Prometheus reads."""

from fastapi import APIRouter, Request, Response

from braid.service.dependencies import ComponentsOf
from braid.telemetry.metric_texts import metrics_text

router = APIRouter()


@router.get("/metrics", include_in_schema=False)
def get_metrics(components: ComponentsOf, request: Request) -> Response:
    """Return the metrics of all workers, and those of the reports of runners."""
    text, media_type = metrics_text(components.metrics, request.headers.get("accept"))
    return Response(text, media_type=media_type)
