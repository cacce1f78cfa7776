"""Numbers of a stream are within bounds, and its trigger is declared once."""

from typing import Any

import pytest

from braid.registry.rules.stream_bounds import check_bounds, check_trigger
from braid.registry.rules.stream_completion import complete_stream
from tests.unit.registry.shop import definition, orders


@pytest.mark.parametrize(
    ("field", "value", "is_fine"),
    [
        ("max_records_per_batch", 2_147_483_647, False),
        ("max_records_per_batch", 10_000_000, True),
        ("max_message_bytes", 1 << 30, False),
        ("max_bytes_per_batch", 1_000, False),
        ("max_bytes_per_batch", 2_147_483_647, True),
        ("columns_max", 5_001, False),
        ("weight", 101, False),
        ("weight", 100, True),
    ],
)
def test_a_number_out_of_bounds_is_reported(field: str, value: int, is_fine: bool) -> None:
    stream = complete_stream(
        orders(), definition(topic="t").model_copy(update={field: value}), name="sales"
    )

    found = [(problem.pointer, problem.value) for problem in check_bounds(stream)]

    assert found == ([] if is_fine else [(f"/{field}", str(value))])


@pytest.mark.parametrize(
    ("declared", "problems"),
    [
        ({"trigger_ms": 99}, {"/trigger_ms": "expected 100 to 3600000"}),
        ({"trigger_ms": 100}, {}),
        ({"trigger_ms": 3_600_001}, {"/trigger_ms": "expected 100 to 3600000"}),
        (
            {"trigger": {"type": "interval", "milliseconds": 99}},
            {"/trigger/milliseconds": "expected 100 to 3600000"},
        ),
        ({"trigger": {"type": "interval", "milliseconds": 200}, "trigger_ms": 200}, {}),
        (
            {"trigger": {"type": "interval", "milliseconds": 200}, "trigger_ms": 5_000},
            {"/trigger_ms": "`trigger` declares another interval, 200"},
        ),
        ({"trigger": {"type": "available_now"}}, {}),
        ({"trigger": {"type": "continuous"}, "trigger_ms": 5_000}, {}),
        (
            {"trigger": {"type": "continuous"}, "trigger_ms": 200},
            {"/trigger_ms": "it has no effect beside the trigger `continuous`"},
        ),
    ],
)
def test_a_trigger_is_declared_once_and_within_bounds(
    declared: dict[str, Any], problems: dict[str, str]
) -> None:
    found = check_trigger(definition(**declared))

    assert {problem.pointer: problem.message for problem in found} == problems


@pytest.mark.parametrize(
    ("budget", "is_fine"),
    [({}, False), ({"count": 0}, True), ({"rate": 0.5}, True), ({"count": 1, "rate": 1}, True)],
)
def test_a_budget_has_a_bound(budget: dict[str, float], is_fine: bool) -> None:
    stream = complete_stream(orders(), definition(dead_letter_budget=budget), name="sales")

    found = [problem.pointer for problem in check_bounds(stream)]

    assert found == ([] if is_fine else ["/dead_letter_budget"])
