"""Paths of data files, and of the extra files beside them, from a table's schema, partition, bucket and name."""

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.paths import TablePaths
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.partition_path import partition_directory
from braid.lake.format.schema import TableSchema


def table_paths(root: str, schema: TableSchema) -> TablePaths:
    """Return the paths of a table's files, with its `data-file.path-directory`."""
    return TablePaths(root, schema.table_options.data_file_path_directory or "")


def data_file_path(
    paths: TablePaths, schema: TableSchema, partition: bytes, bucket: int, file_name: str
) -> str:
    """Return the absolute path of a data file.

    Args:
        paths: Paths of the table.
        schema: Schema of the table; determines how partition values are spelt.
        partition: Serialised partition row.
        bucket: Bucket number.
        file_name: Name inside the bucket's directory.
    """
    return paths.data_file(partition_directory(partition, schema), bucket, file_name)


def with_extra_files(path: str, file: DataFileMeta) -> list[str]:
    """Return the path of a data file, and the paths of the files that are deleted together with it.

    Args:
        path: Path of the data file.
        file: The file's entry in the manifest.
    """
    directory = path.rpartition("/")[0]
    return [path, *(f"{directory}/{name}" for name in file.extra_files)]


def live_file_path(
    paths: TablePaths, schema: TableSchema, partition: bytes, bucket: int, file: DataFileMeta
) -> str:
    """Return the absolute path of a file that a manifest lists.

    Raises:
        UnsupportedFeature: The file lies outside the table's directory.
    """
    if file.external_path is not None:
        message = f"data file {file.file_name} is outside of the table's directory, which this version does not support: {file.external_path}"
        raise UnsupportedFeature(message)
    return data_file_path(paths, schema, partition, bucket, file.file_name)
