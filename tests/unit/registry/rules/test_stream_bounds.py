"""Numbers of a stream are within bounds."""

import pytest

from braid.registry.rules.stream_bounds import check_bounds
from braid.registry.rules.stream_completion import complete_stream
from tests.unit.registry.shop import definition, orders


@pytest.mark.parametrize(
    ("field", "value", "is_fine"),
    [
        ("trigger_ms", 1, False),
        ("trigger_ms", 100, True),
        ("trigger_ms", 3_600_001, False),
        ("max_records_per_batch", 2_147_483_647, False),
        ("max_records_per_batch", 10_000_000, True),
        ("max_message_bytes", 1 << 30, False),
        ("columns_max", 5_001, False),
    ],
)
def test_a_number_out_of_bounds_is_reported(field: str, value: int, is_fine: bool) -> None:
    stream = complete_stream(
        orders(), definition(topic="t").model_copy(update={field: value}), name="sales"
    )

    found = [(problem.pointer, problem.value) for problem in check_bounds(stream)]

    assert found == ([] if is_fine else [(f"/{field}", str(value))])
