"""The runner itself: a wrong expectation fails, an unsupported step skips, each counted and shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.case import parse_case
from tests.conformance.outcome import Verdict
from tests.conformance.run import main, run_case


def case_object(**changes: Any) -> dict[str, Any]:
    """Return a case that a right engine passes, with changes."""
    raw: dict[str, Any] = {
        "id": "one",
        "schema": {
            "columns": [{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"}],
            "primary_key": ["k"],
        },
        "options": {"bucket": "1", "write-only": "true"},
        "steps": [
            {"write": [["+I", 1, "a"], ["+I", 2, "b"]]},
            {"read": {"columns": ["v"]}},
            {"write": [["+I", 1, "c"]]},
            {"read": {"columns": ["k", "v"], "snapshot": 1}},
        ],
        "expect": {
            "steps": [
                {"rows": [[1, "a"], [2, "b"]]},
                {"rows": [["a"], ["b"]]},
                {"rows": [[1, "c"], [2, "b"]]},
                {"rows": [[1, "a"], [2, "b"]]},
            ]
        },
    }
    return {**raw, **changes}


def test_a_right_case_passes_whatever_the_order_of_expected_rows() -> None:
    raw = case_object()
    raw["expect"]["steps"][0]["rows"].reverse()

    assert run_case(parse_case(raw)).verdict is Verdict.PASSED


@pytest.mark.parametrize("step", range(4))
def test_a_wrong_value_at_any_step_fails_and_is_named(step: int) -> None:
    raw = case_object()
    raw["expect"]["steps"][step]["rows"][0][-1] = "wrong"

    outcome = run_case(parse_case(raw))

    assert outcome.verdict is Verdict.FAILED
    assert f"step {step + 1}" in outcome.reason
    assert "wrong" in outcome.reason


def test_a_missing_and_a_surplus_row_fail() -> None:
    for rows in ([[1, "a"]], [[1, "a"], [2, "b"], [2, "b"]]):
        raw = case_object()
        raw["expect"]["steps"][0]["rows"] = rows

        assert run_case(parse_case(raw)).verdict is Verdict.FAILED


def test_an_expected_error_that_does_not_come_fails() -> None:
    error = {"phase": "write", "class": "java.lang.RuntimeException", "message": "no"}
    expect = {"steps": [{"error": error}]}
    created = {"create_error": {"phase": "create", "class": "x", "message": "no"}}

    assert run_case(parse_case(case_object(expect=expect))).verdict is Verdict.FAILED
    assert run_case(parse_case(case_object(expect=created))).verdict is Verdict.FAILED


def test_an_error_in_the_expected_phase_passes_and_in_another_fails() -> None:
    error = {"phase": "write", "class": "java.lang.RuntimeException", "message": "null key"}
    steps = [{"write": [["+I", None, "a"]]}]
    wrong_phase = {"steps": [{"error": {**error, "phase": "read"}}]}

    right = run_case(parse_case(case_object(steps=steps, expect={"steps": [{"error": error}]})))
    wrong = run_case(parse_case(case_object(steps=steps, expect=wrong_phase)))

    assert right.verdict is Verdict.PASSED
    assert wrong.verdict is Verdict.FAILED


def test_an_unsupported_step_skips_only_what_was_right_before_it() -> None:
    raw = case_object()
    raw["steps"].append({"stand": "on one's head"})
    raw["expect"]["steps"].append({"rows": []})
    wrong = case_object()
    wrong["steps"], wrong["expect"]["steps"][0]["rows"] = raw["steps"], []

    assert run_case(parse_case(raw)).verdict is Verdict.SKIPPED
    assert run_case(parse_case(wrong)).verdict is Verdict.FAILED


def test_a_projection_that_shows_removed_rows_is_held_against_the_full_rows_and_never_passes() -> (
    None
):
    columns = [{"name": name, "type": "INT"} for name in ("k", "g", "a")]
    options = {
        "bucket": "1",
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "a",
        "partial-update.remove-record-on-sequence-group": "g",
    }
    raw = case_object(
        schema={"columns": columns, "primary_key": ["k"]},
        options=options,
        steps=[
            {"write": [["+I", 1, 1, 1]]},
            {"write": [["-D", 1, 2, 1]]},
            {"read": {"columns": ["k"]}},
        ],
        expect={"steps": [{"rows": [[1, 1, 1]]}, {"rows": []}, {"rows": [[1]]}]},
    )

    outcome = run_case(parse_case(raw))

    assert outcome.verdict is Verdict.DIFFERENT
    assert "agrees with the full read" in outcome.reason


def test_the_report_ends_with_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = case_object(id="bad")
    bad["expect"]["steps"][0]["rows"] = []
    skipped = case_object(id="skip", steps=[{"stand": 1}], expect={"steps": [{"rows": []}]})
    text = "".join(json.dumps(raw) + "\n" for raw in (case_object(), bad, skipped))
    (tmp_path / "cases.jsonl").write_text(text, encoding="utf-8")

    code = main([str(tmp_path)])

    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[0].startswith("FAILED bad: ")
    assert lines[-2:] == [
        "skipped    1: step stand",
        "1 passed, 0 different on purpose, 1 failed, 1 skipped",
    ]


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \*\.jsonl"):
        main([str(tmp_path)])


def test_nested_values_that_java_cannot_take_back_are_different_on_purpose() -> None:
    nested = {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "a", "type": "INT"}]}}
    message = "ColumnarRowData do not support equals, please compare fields one by one!"
    raw = case_object(
        schema={
            "columns": [{"name": "k", "type": "INT"}, {"name": "v", "type": nested}],
            "primary_key": ["k"],
        },
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "collect",
        },
        steps=[{"write": [["+I", 1, [[1]]]]}, {"write": [["-U", 1, [[1]]]]}],
        expect={
            "steps": [{"rows": [[1, [[1]]]]}, {"error": {"phase": "read", "message": message}}]
        },
    )

    outcome = run_case(parse_case(raw))

    assert outcome.verdict is Verdict.DIFFERENT
