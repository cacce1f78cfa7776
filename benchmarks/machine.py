"""Description of the machine on which figures were measured."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("pyarrow", "numpy", "fastavro", "pyspark")


def machine() -> str:
    """Return processor, versions and load, in three lines."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}\n"
        f"Python {platform.python_version()}, {packages}\n"
        f"load before the run: {load}"
    )


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
