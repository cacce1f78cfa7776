"""Reference pages of declarations: every field has a text and an example, and every example can be registered."""

from collections.abc import Iterator

import pytest

from braid.formats.clusters.clusters_file import (
    CLUSTER_FIELDS,
    TOP_FIELDS,
    parse_clusters,
)
from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.formats.clusters.push_signatures import FIELDS as SIGNATURE_FIELDS, PushSignature
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.formats.schema_registry.registry_tables import FIELDS as REGISTRY_FIELDS
from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from docs.generator.declarations import declared_examples
from docs.generator.declarations.cluster_file_page import EXAMPLE, fields_in_file
from docs.generator.declarations.contract_sections import (
    DescribedSchema,
    described_schemas,
    field_examples,
    shown_name,
)
from docs.generator.declarations.declaration_pages import ROOTS
from tests.unit.service.http_client import HttpClient

FILES = [(file["name"].replace(".", "/"), file) for file in declared_examples.FILES]
NARROW = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "total", "type": "DOUBLE"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
    "deletes": "remove_row",
}


def _described() -> Iterator[DescribedSchema]:
    found = {schema.name: schema for root in ROOTS for schema in described_schemas(root)}
    yield from found.values()


def _fields() -> Iterator[tuple[str, str, str | None]]:
    """Yield the contract, the name and the text of each field."""
    for described in _described():
        for name, field in described.model.model_fields.items() if described.model else ():
            text = described.schema["properties"][shown_name(name, field)].get("description")
            yield described.name, name, text


@pytest.fixture
def client() -> HttpClient:
    """The service over a warehouse in memory, with the clusters of the cluster file's page."""
    clock = ManualClock()
    settings = ServiceSettings(
        warehouse="/w", clusters=parse_clusters(EXAMPLE, source="the example")
    )
    return HttpClient(create_app(settings, file_io=MemoryFileIO(clock=clock), clock=clock))


def test_every_field_of_a_declaration_has_a_text() -> None:
    assert [f"{contract}.{name}" for contract, name, text in _fields() if not text] == []


def test_every_field_of_a_declaration_has_an_example() -> None:
    examples = field_examples(list(declared_examples.declared()))

    fields = {(contract, name) for contract, name, _ in _fields()}
    assert len(fields) > 150
    assert fields - set(examples) == set()


def test_every_contract_and_every_enumeration_has_a_text() -> None:
    assert [one.name for one in _described() if not one.schema.get("description")] == []


@pytest.mark.parametrize(("address", "file"), FILES, ids=[address for address, _ in FILES])
def test_the_declared_tables_and_streams_can_be_registered(
    client: HttpClient, address: str, file: dict[str, dict[str, object]]
) -> None:
    answer = client.put(f"/v1/tables/{address}", json=file["table"])
    assert answer.status_code == 201, answer.text
    for name, stream in file["streams"].items():
        answer = client.put(f"/v1/tables/{address}/streams/{name}", json=stream)
        assert answer.status_code == 201, answer.text


def test_the_changes_can_be_made(client: HttpClient) -> None:
    orders = declared_examples.ORDERS
    client.put("/v1/tables/shop/orders", json=orders["table"]).raise_for_status()
    sales = client.put("/v1/tables/shop/orders/streams/sales", json=orders["streams"]["sales"])
    sales.raise_for_status()

    answer = client.post("/v1/tables/shop/orders/schema-changes", json=declared_examples.CHANGES)

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("title", declared_examples.FORMATS.keys() - {"Raw"})
def test_the_formats_can_be_registered(client: HttpClient, title: str) -> None:
    client.put("/v1/tables/shop/narrow", json=NARROW).raise_for_status()
    stream = {
        "topic": "shop.narrow",
        "format": declared_examples.FORMATS[title],
        "kafka": {"cluster": "shop"},
        "partitioned_by_key": True,
    }

    answer = client.put("/v1/tables/shop/narrow/streams/narrow", json=stream)

    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(
    ("described", "fields"),
    [
        (KafkaClusters, TOP_FIELDS),
        (NamedCluster, CLUSTER_FIELDS),
        (PushSignature, SIGNATURE_FIELDS),
        (NamedSchemaRegistry, REGISTRY_FIELDS),
    ],
)
def test_the_page_of_the_cluster_file_has_every_field(
    described: type, fields: tuple[str, ...]
) -> None:
    assert set(fields_in_file(described)) == set(fields)
