"""The engine has access to nothing but its input, and fails without harm."""

import pyarrow as pa
import pytest

from braid.formats.expressions.sql_engine import SqlEngine, SqlError, sql_engine

NUMBERS = pa.table({"f0": pa.array([4, 0, None, 3])})


@pytest.mark.parametrize(
    "sql",
    [
        "(SELECT content FROM read_text('/etc/hostname'))",
        "(SELECT count(*) FROM '/etc/hostname')",
        "(SELECT 1 FROM read_parquet('https://example.org/x'))",
    ],
)
def test_it_reads_no_files_and_no_network(sql: str) -> None:
    with pytest.raises(SqlError, match=r"disabled by configuration|does not exist"):
        sql_engine().result_type(sql, NUMBERS.schema)


def test_its_settings_are_locked() -> None:
    schema = NUMBERS.schema

    (found,) = SqlEngine().evaluate(["current_setting('lock_configuration')"], NUMBERS[:1])
    assert found.to_pylist() == [{"result": True}]
    (found,) = SqlEngine().evaluate(["current_setting('TimeZone')"], NUMBERS[:1])
    assert found.to_pylist() == [{"result": "UTC"}]
    assert str(sql_engine().result_type("f0 * 2", schema)) == "BIGINT"


def test_a_row_that_fails_is_told_from_a_result_that_is_null() -> None:
    found = sql_engine().evaluate(["12 // f0", "f0"], NUMBERS)

    assert [one.to_pylist() for one in found] == [
        [{"result": 3}, None, {"result": None}, {"result": 4}],
        [{"result": 4}, {"result": 0}, {"result": None}, {"result": 3}],
    ]
    why = sql_engine().why_failed("12 // f0", NUMBERS[1:2])
    assert why == "Division by zero"


def test_order_and_number_of_rows_stay_in_large_batches() -> None:
    numbers = pa.table({"f0": pa.array(range(10_000))})

    (found,) = sql_engine().evaluate(["f0 + 1"], numbers)

    assert found.field(0).to_pylist() == list(range(1, 10_001))


def test_what_needs_more_memory_than_there_is_fails_and_the_engine_goes_on() -> None:
    engine = SqlEngine(memory="16MB")
    texts = pa.table({"f0": ["x" * 1_000] * 100})

    with pytest.raises(SqlError, match="allocate"):
        engine.evaluate(["repeat(f0, 1000)"], texts)

    (found,) = engine.evaluate(["length(f0)"], texts[:1])
    assert found.to_pylist() == [{"result": 1_000}]


def test_a_process_has_one_engine() -> None:
    assert sql_engine() is sql_engine()
