"""The anomalies that tests pin are the reference's own answers, not our reading of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop import java_reader
from tests.unit.lake.merge import test_anomalies as pinned
from tests.unit.lake.merge.given_anomaly import ANOMALIES

pytestmark = pytest.mark.interop


def test_java_gives_every_pinned_answer(tmp_path: Path) -> None:
    """All of them hold in 1.4.2 as they do in 2.0.0, the stricter projection aside."""
    described = {name: describe() for name, describe in ANOMALIES.items()}
    described["removed_row"] = pinned.REMOVED_ROW
    cases = [anomaly.case(name) for name, anomaly in described.items()]
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")

    answers = java_reader.run_cases(file, tmp_path / "out.jsonl")

    assert len(answers) == len(cases) > 30
    for case, answer in zip(cases, answers, strict=True):
        assert outcomes(answer) == outcomes(case), case["id"]


def outcomes(case: dict[str, Any]) -> list[Any]:
    """Return rows, merged rows or the phase of the error, step by step."""
    return [
        step["error"]["phase"] if "error" in step else step.get("rows", step.get("row"))
        for step in case["expect"]["steps"]
    ]
