"""Schemas come with all that they refer to, are fetched once, and unknown ids are asked for again."""

from collections.abc import Mapping
from typing import Any

import pytest

from braid.formats.schema_registry.registry_client import ANSWER_BYTES_MAX, RegistryClient
from braid.formats.schema_registry.schema_cache import (
    DEPTH_MAX,
    ID_MAX,
    REFERENCES_MAX,
    SECOND_LOOK_S,
    TEXT_CHARACTERS_MAX,
    UNKNOWN_S,
    SchemaCache,
)
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    UnknownSchemaError,
)
from braid.lake import StorageUnavailable
from tests.support.registry_server import Answer, RegistryServer, unknown
from tests.unit.formats.schema_registry.conftest import connection


class Time:
    """A clock that only waits move."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now_s += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def cache(server: RegistryServer, time: Time) -> SchemaCache:
    client = RegistryClient(connection(server.url))
    return SchemaCache(client, now_s=lambda: time.now_s, sleep=time.sleep)


def reference(name: str, version: int = 1) -> dict[str, Any]:
    return {"name": name, "subject": f"{name}-value", "version": version}


def test_a_schema_is_fetched_once(server: RegistryServer, cache: SchemaCache) -> None:
    server.put_schema(7, "{}", schemaType="JSON")

    found = [cache.schema(7), cache.schema(7)]

    assert found == [RegisteredSchema(id=7, kind=SchemaKind.JSON, text="{}")] * 2
    assert server.paths == ["/schemas/ids/7"]


def test_a_schema_without_a_kind_is_avro(server: RegistryServer, cache: SchemaCache) -> None:
    server.put_schema(1, '"string"')
    server.put_schema(2, "x", schemaType="THRIFT")
    server.put_schema(3, '"string"', schemaType=None)

    assert cache.schema(1).kind is SchemaKind.AVRO
    assert cache.schema(3).kind is SchemaKind.AVRO
    with pytest.raises(UnknownSchemaError, match="id 2 is of the kind 'THRIFT'"):
        cache.schema(2)


def test_references_are_found_through_others_each_behind_those_that_it_refers_to(
    server: RegistryServer, cache: SchemaCache
) -> None:
    server.put_schema(1, "top", references=[reference("a"), reference("c")])
    server.put_version("a-value", 1, "of a", references=[reference("b"), reference("c")])
    server.put_version("b-value", 1, "of b", references=[reference("c")])
    server.put_version("c-value", 1, "of c", references=None)
    server.put_schema(2, "other", references=[reference("b")])

    assert list(cache.schema(1).references.items()) == [("c", "of c"), ("b", "of b"), ("a", "of a")]
    asked = list(server.paths)
    assert list(cache.schema(2).references) == ["c", "b"]
    # What another schema referred to before is not fetched again.
    assert server.paths == [*asked, "/schemas/ids/2"]


def test_subjects_are_written_into_the_path_as_one_part(
    server: RegistryServer, cache: SchemaCache
) -> None:
    part = {"name": "a", "subject": "com/x y", "version": 2}
    server.put_schema(1, "top", references=[part])
    server.put("/subjects/com%2Fx%20y/versions/2", Answer(body={"schema": "of a"}))

    assert cache.schema(1).references == {"a": "of a"}


def chain(server: RegistryServer, length: int) -> None:
    server.put_schema(1, "top", references=[reference("n0")])
    for number in range(length):
        below = [reference(f"n{number + 1}")] if number + 1 < length else []
        server.put_version(f"n{number}-value", 1, "of n", references=below)


def test_references_may_be_as_deep_as_the_bound(server: RegistryServer, cache: SchemaCache) -> None:
    chain(server, DEPTH_MAX)

    assert len(cache.schema(1).references) == DEPTH_MAX


@pytest.mark.parametrize(
    ("versions", "top", "reason"),
    [
        (
            {
                ("a", 1): {"references": [reference("b")]},
                ("b", 1): {"references": [reference("a")]},
            },
            [reference("a")],
            "form a circle: a-value version 1 > b-value version 1 > a-value version 1",
        ),
        ({}, [reference("a")], "it refers to a-value version 1, which does not exist"),
        (
            {("a", 1): {}, ("a", 2): {}},
            [reference("a", 1), reference("a", 2)],
            "'a' refers to a-value version 1 and to a-value version 2",
        ),
        ({}, [{"name": "a"}], "lacks a name, subject or version"),
        ({}, {"name": "a"}, "its references are not a list"),
        ({}, [reference("\ud800")], "a name or subject that is not Unicode text"),
        ({}, [{**reference("a"), "name": "\ud800"}], "a name or subject that is not Unicode text"),
    ],
)
def test_references_that_cannot_be_used_are_told(
    server: RegistryServer,
    cache: SchemaCache,
    versions: Mapping[tuple[str, int], dict[str, Any]],
    top: Any,
    reason: str,
) -> None:
    server.put_schema(1, "top", references=top)
    for (name, version), fields in versions.items():
        server.put_version(f"{name}-value", version, "text", **fields)

    with pytest.raises(UnknownSchemaError) as caught:
        cache.schema(1)

    assert str(caught.value).startswith("the schema of id 1 cannot be used: ")
    assert reason in str(caught.value)


def test_depth_number_and_size_of_references_are_bounded(
    server: RegistryServer, cache: SchemaCache
) -> None:
    chain(server, DEPTH_MAX + 1)
    many = [reference(f"m{number}") for number in range(REFERENCES_MAX + 1)]
    server.put_schema(2, "top", references=many)
    for one in many:
        server.put_version(one["subject"], 1, "text")
    count = TEXT_CHARACTERS_MAX // (3 << 20) + 1
    large = [reference(f"l{number}") for number in range(count)]
    server.put_schema(3, "top", references=large)
    for one in large:
        server.put_version(one["subject"], 1, "x" * (3 << 20))
    server.put("/schemas/ids/4", Answer(body=b" " * (ANSWER_BYTES_MAX + 1)))
    server.put_schema(5, "top", references=[reference("h")])
    server.put("/subjects/h-value/versions/1", Answer(body=b" " * (ANSWER_BYTES_MAX + 1)))

    for schema_id, reason in (
        (1, "nested more than"),
        (2, "refers to more than"),
        (3, "characters with all"),
        (4, "id 4 has more than"),
        (5, "h-value version 1 has too many bytes"),
    ):
        with pytest.raises(UnknownSchemaError, match=reason):
            cache.schema(schema_id)


def test_an_id_that_appears_in_a_moment_is_waited_for(
    server: RegistryServer, cache: SchemaCache, time: Time
) -> None:
    server.put("/schemas/ids/7", unknown(), Answer(body={"schema": "{}"}))

    assert cache.schema(7).text == "{}"
    assert time.waits == [SECOND_LOOK_S]


def test_unknown_ids_are_kept_for_a_while_and_cost_one_wait_in_it(
    server: RegistryServer, cache: SchemaCache, time: Time
) -> None:
    for schema_id in (7, 7, 8):
        with pytest.raises(UnknownSchemaError, match=f"no schema of id {schema_id}"):
            cache.schema(schema_id)
    assert server.paths == ["/schemas/ids/7", "/schemas/ids/7", "/schemas/ids/8"]
    assert time.waits == [SECOND_LOOK_S]

    time.now_s += UNKNOWN_S
    server.put_schema(7, "{}")

    assert cache.schema(7).text == "{}"
    with pytest.raises(UnknownSchemaError):
        cache.schema(9)
    assert time.waits == [SECOND_LOOK_S] * 2


@pytest.mark.parametrize("schema_id", [-1, ID_MAX + 1])
def test_a_number_that_is_no_id_is_not_asked_for(
    server: RegistryServer, cache: SchemaCache, schema_id: int
) -> None:
    with pytest.raises(UnknownSchemaError, match="is not the id"):
        cache.schema(schema_id)

    assert server.requests == []


def test_a_registry_that_does_not_answer_is_asked_again_by_the_next_call(
    server: RegistryServer, cache: SchemaCache, time: Time
) -> None:
    ready = Answer(body={"schema": "top", "references": [reference("a")]})
    server.put("/schemas/ids/7", Answer(status=500), ready)
    server.put("/subjects/a-value/versions/1", Answer(status=503), Answer(body={"schema": "of a"}))

    for _ in range(2):
        with pytest.raises(StorageUnavailable, match="not available"):
            cache.schema(7)

    assert cache.schema(7).references == {"a": "of a"}
    assert time.waits == []
