"""Stream declarations as bytes and back."""

from typing import Any

import pytest
from pydantic import ValidationError

from braid.schemas import (
    AvailableNowTrigger,
    ContinuousTrigger,
    CsvFormat,
    IntervalTrigger,
    JsonFormat,
    RawFormat,
    StartingOffsets,
    StreamColumn,
    StreamDefinition,
    StreamSpec,
    Trigger,
)


def test_a_topic_is_all_that_a_definition_needs() -> None:
    definition = StreamDefinition.model_validate({"topic": "orders"})

    assert definition.format == JsonFormat()
    assert definition.starting_offsets is StartingOffsets.EARLIEST
    assert definition.columns == ()


@pytest.mark.parametrize(
    ("given", "format_", "dumped"),
    [
        ("json", JsonFormat(), "json"),
        ({"type": "json"}, JsonFormat(), "json"),
        (
            {"type": "json", "schema_registry": "shop"},
            JsonFormat(schema_registry="shop"),
            {"type": "json", "schema_registry": "shop"},
        ),
        ("raw", RawFormat(), {"type": "raw"}),
        (
            {"type": "csv", "fields": ["a"]},
            CsvFormat(fields=("a",)),
            {"type": "csv", "fields": ["a"], "delimiter": ",", "quote": '"', "null_text": ""},
        ),
    ],
    ids=str,
)
def test_a_format_is_a_name_or_an_object(given: object, format_: object, dumped: object) -> None:
    definition = StreamDefinition.model_validate({"topic": "t", "format": given})

    assert definition.format == format_
    assert definition.model_dump(mode="json")["format"] == dumped


def test_a_value_is_read_from_the_field_of_its_columns_name_unless_a_path_is_given() -> None:
    assert StreamColumn(column="total").source_path == ("total",)
    assert StreamColumn(column="total", path="payload.sum").source_path == ("payload", "sum")


@pytest.mark.parametrize(
    ("source", "path", "expected"),
    [
        ("key", None, ()),
        ("key", "a.b", ("a", "b")),
        ("header", None, ("total",)),
        ("header", "a.b", ("a.b",)),
        ("timestamp", None, ()),
        ("topic", None, ()),
    ],
)
def test_a_part_of_a_record_is_read_by_its_names(
    source: str, path: str | None, expected: tuple[str, ...]
) -> None:
    declared = {"column": "total", "source": source, "path": path}

    assert StreamColumn.model_validate(declared).source_path == expected


@pytest.mark.parametrize(
    "change",
    [
        {"starting_offsets": "yesterday"},
        {"format": "xml"},
        {"format": "csv"},
        {"format": {"type": "json", "fields": []}},
        {"format": {"type": "json", "schema_registry": ""}},
        {"format": {"type": "csv", "fields": []}},
        {"format": 5},
        {"trigger_ms": 0},
        {"trigger": "available_now"},
        {"trigger": {"type": "once"}},
        {"trigger": {"type": "interval"}},
        {"trigger": {"type": "continuous", "milliseconds": 5}},
        {"max_records_per_batch": -5},
        {"max_message_bytes": 0},
        {"topics": ["a"]},
        {"kafka": {"bootstrap": "x:1"}},
    ],
    ids=str,
)
def test_an_invalid_stream_declaration_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        StreamDefinition.model_validate({"topic": "orders"} | change)


def test_a_registered_stream_has_all_defaults_filled_in() -> None:
    with pytest.raises(ValidationError) as caught:
        StreamSpec.model_validate({"topic": "orders"})

    missing = {error["loc"][0] for error in caught.value.errors()}
    assert missing == {"name", "columns", "dead_letter_topic"}


REGISTERED = {"topic": "t", "name": "s", "columns": [{"column": "k"}], "dead_letter_topic": "d"}


@pytest.mark.parametrize(
    ("stored", "trigger", "interval_ms"),
    [
        ({"trigger_ms": 200}, IntervalTrigger(milliseconds=200), 200),
        ({}, IntervalTrigger(milliseconds=5_000), 5_000),
        # An earlier version has changed the one and kept the other.
        (
            {"trigger_ms": 200, "trigger": {"type": "interval", "milliseconds": 5_000}},
            IntervalTrigger(milliseconds=200),
            200,
        ),
        ({"trigger_ms": 5_000, "trigger": {"type": "continuous"}}, ContinuousTrigger(), 0),
        ({"trigger": {"type": "available_now"}}, AvailableNowTrigger(), 0),
    ],
)
def test_a_stored_stream_has_one_trigger(
    stored: dict[str, Any], trigger: Trigger, interval_ms: int
) -> None:
    spec = StreamSpec.model_validate(REGISTERED | stored)

    assert (spec.trigger, spec.interval_ms) == (trigger, interval_ms)
    assert spec.ends == isinstance(trigger, AvailableNowTrigger)
