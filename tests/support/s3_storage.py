"""Storage on the S3 server of the tests."""

from braid.demo.s3_server import S3Server
from braid.lake.files.object_store.address import Service
from braid.lake.files.object_store.settings import StoreSettings
from braid.lake.files.object_store.store import ObjectStoreFileIO


def s3_file_io(server: S3Server) -> ObjectStoreFileIO:
    """Return the server's storage, as its environment would have it."""
    return ObjectStoreFileIO(s3_settings(server))


def s3_settings(server: S3Server) -> StoreSettings:
    """Return how the server is reached; the credentials are a reference to a file."""
    return StoreSettings.from_environment(Service.S3, server.environment)
