"""Functions that a repeated value does not change, aliases included."""

import pytest

from braid.registry.layout.column_functions import why_repetition_matters
from braid.schemas import AggregateSpec


@pytest.mark.parametrize("name", ["max", "first_non_null_value", "first_not_null_value"])
def test_a_repeated_value_changes_nothing(name: str) -> None:
    assert why_repetition_matters(AggregateSpec(function=name)) is None


@pytest.mark.parametrize("name", ["sum", "collect", "a_function_of_nobody"])
def test_a_repeated_value_counts_again(name: str) -> None:
    assert why_repetition_matters(AggregateSpec(function=name)) is not None
