"""Files of a table's Iceberg metadata that are in use, for the search for orphans."""

from braid.lake.errors import CorruptData
from braid.lake.iceberg.metadata_directory import (
    VERSION_HINT,
    MetadataDirectory,
    directory_of,
    is_published,
)
from braid.lake.snapshots.table_store import TableStore


def referenced_files(store: TableStore) -> set[str]:
    """Return the names of the files that the Iceberg metadata of a table need; none if it has no such metadata.

    The newest versions are in use, as many as the table's options keep. Where one of them cannot be read, all files
    are: it is unknown which ones it needs.

    Raises:
        InvalidRequest: The table is in no warehouse, where its options put the metadata.
    """
    options = store.schema.table_options
    if not is_published(options):
        return set()
    directory = MetadataDirectory(
        store.file_io, directory_of(store.paths, options), store.manifests.cache
    )
    versions = directory.versions()
    if options.iceberg_delete_after_commit:
        versions = versions[: 1 + options.iceberg_previous_versions_max]
    names = {VERSION_HINT}
    try:
        for version in versions:
            metadata = directory.read(version)
            if metadata is not None:
                names.add(directory.document(version).rpartition("/")[2])
                names |= directory.referenced(metadata)
    except CorruptData:
        return {status.name for status in directory.list()}
    return names
