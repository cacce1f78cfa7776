"""Rules for streams that Spark feeds."""

from typing import Any

import pytest

from braid.registry.placement.needed_streams import needs_runner
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.store.stored_documents import SPARK_SOURCES, features_of
from braid.schemas import SPARK_TOPIC, FieldProblem, StreamDefinition, StreamEntry
from tests.unit.records.given_streams import given_spec

SPEC = given_spec({"id": "BIGINT", "a": "INT"}, ordering=None, deletes="clear_columns")


def found_in(**stream: Any) -> list[FieldProblem]:
    definition = StreamDefinition.model_validate({"source": "spark", **stream})
    return list(check_stream(SPEC, {}, complete_stream(SPEC, definition, name="s")))


def problems(**stream: Any) -> list[tuple[str, str]]:
    return [(one.pointer or "", one.message) for one in found_in(**stream)]


def test_a_stream_needs_no_topic() -> None:
    definition = StreamDefinition.model_validate({"source": "spark"})
    spec = complete_stream(SPEC, definition, name="s")

    assert problems() == []
    assert problems(on_delete="clear_columns", labels={"team": "a"}, owner="b") == []
    assert (spec.topic, spec.column_names, spec.on_delete) == (SPARK_TOPIC, ("id", "a"), None)
    assert features_of(spec) == (SPARK_SOURCES,)


@pytest.mark.parametrize(
    ("stream", "pointer"),
    [
        ({"topic": "t"}, "/topic"),
        ({"format": "raw"}, "/format"),
        ({"where": "a = 1"}, "/where"),
        ({"kafka": {"cluster": "shop"}}, "/kafka"),
        ({"trigger_ms": 7}, "/trigger"),
        ({"columns": [{"column": "id", "source": "key"}, {"column": "a"}]}, "/columns/0"),
        ({"columns": [{"column": "id"}, {"column": "a", "path": "b"}]}, "/columns/1"),
        ({"on_delete": "dead_letter"}, "/on_delete"),
        ({"on_delete": "remove_row"}, "/on_delete"),
    ],
)
def test_what_is_about_a_topic_cannot_be_declared(stream: dict[str, Any], pointer: str) -> None:
    assert pointer in [found for found, _ in problems(**stream)]


def test_a_topic_is_refused_without_the_default_that_follows_from_it() -> None:
    assert [pointer for pointer, _ in problems(topic="t")] == ["/topic"]
    both = problems(topic="t", dead_letter_topic="d")
    assert [pointer for pointer, _ in both] == ["/topic", "/dead_letter_topic"]
    assert [one.value for one in found_in(topic="t", dead_letter_topic="d")] == ["t", "d"]


def test_ownership_is_that_of_every_stream() -> None:
    ((pointer, message),) = problems(columns=[{"column": "id"}])

    assert pointer == "/columns"
    assert "`a` of the group `s` is not mapped" in message
    assert ("/columns/1/column", "no such column") in problems(
        columns=[{"column": "id"}, {"column": "x"}]
    )


def test_a_topic_is_still_required_of_streams_from_kafka() -> None:
    with pytest.raises(ValueError, match="topic"):
        StreamDefinition.model_validate({"source": "kafka"})


def test_no_runner_is_needed() -> None:
    definition = StreamDefinition.model_validate({"source": "spark"})
    spec = complete_stream(SPEC, definition, name="s")

    assert not needs_runner(StreamEntry(spec=spec))
