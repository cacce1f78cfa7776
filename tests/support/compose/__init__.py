"""The compose file at the top of the repository, and the published JSON Schema of such files.

`compose-spec.json` is `schema/compose-spec.json` of the Compose Specification (Apache License 2.0), as of June 2026.
"""

from pathlib import Path
from typing import Any, Final

import yaml

from tests.support.doc_examples import ROOT

SCHEMA_FILE: Final = Path(__file__).parent / "compose-spec.json"
COMPOSE_FILE: Final = ROOT / "docker-compose.yml"
OWN: Final = ("service", "runner", "maintenance")
"""Services that run a program of Braid."""
CLUSTER: Final = ("spark-master", "spark-worker", "cluster-runner")
"""Services of the profile `cluster`."""


def compose_file() -> dict[str, Any]:
    """Return the compose file, with its YAML anchors resolved."""
    found: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))
    return found
