"""A stream's upserts, deletes, tombstones and records of other kinds make the rows of a model.

Under any split into micro-batches and any compactions between them, and, where deletes clear columns, in any order in
which the records reach the table: then the order of the group alone decides.
"""

import random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.property.record_kinds_model import (
    CASES,
    Case,
    as_batch,
    counts_of_model,
    ingest,
    random_records,
    rows_of_model,
    rows_of_table,
    spec_of,
)
from tests.unit.records.given_streams import given_table

FEW = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@FEW
@given(st.randoms(use_true_random=False))
def test_the_table_has_the_rows_of_the_model(case: Case, chance: random.Random) -> None:
    table = given_table(spec_of(case))
    records = random_records(chance, chance.randint(5, 30))
    order = list(range(len(records)))
    if not case.removes:
        chance.shuffle(order)

    counts = ingest(table, case, as_batch(records).take(pa.array(order)), chance)

    expected = rows_of_model(case, records)
    assert counts == counts_of_model(case, records)
    assert rows_of_table(table.scan().to_arrow().to_pylist()) == expected
    table.compact(full=True)
    assert rows_of_table(table.scan().to_arrow().to_pylist()) == expected
