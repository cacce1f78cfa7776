"""Copies of a source of schemas in one process share what was fetched."""

import pickle

from braid.formats.schema_registry.registry_schemas import RegistrySchemas
from tests.support.registry_server import RegistryServer
from tests.unit.formats.schema_registry.conftest import connection


def test_a_copy_that_came_by_pickle_knows_what_the_process_has_fetched(
    server: RegistryServer,
) -> None:
    server.put_schema(7, "{}")
    schemas = RegistrySchemas(connection=connection(server.url, authorization="Bearer s3cret"))
    copies = [pickle.loads(pickle.dumps(schemas)) for _ in range(3)]

    assert [copy.schema(7).text for copy in copies] == ["{}"] * 3
    assert server.paths == ["/schemas/ids/7"]
    assert "s3cret" not in repr(copies)


def test_another_login_asks_anew(server: RegistryServer) -> None:
    server.put_schema(7, "{}")

    for token in ("a", "b"):
        login = connection(server.url, authorization=f"Bearer {token}")
        RegistrySchemas(connection=login).schema(7)

    assert [headers["Authorization"] for _, headers in server.requests] == ["Bearer a", "Bearer b"]
