"""Opening of a data file of any format: choice of reader, check of the row count, translated errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from braid.lake.errors import CorruptData, Problem, StorageUnavailable, UnsupportedFeature
from braid.lake.files.avro.reader import AvroFormatReader
from braid.lake.files.format_reader import FormatReader
from braid.lake.files.orc.reader import OrcFormatReader
from braid.lake.files.parquet.reader import ParquetFormatReader
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.positioned_input import InputFile
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema


@contextmanager
def open_data_file(
    file_io: FileIO, path: str, file_meta: DataFileMeta, written: TableSchema
) -> Iterator[FormatReader]:
    """Open a data file; errors of decoding inside the context are translated too.

    Args:
        file_io: Storage.
        path: Path of the file.
        file_meta: The file's entry in the manifest.
        written: The schema that the file was written under.

    Raises:
        CorruptData: The file is absent, cannot be decoded, or has another number of rows than its entry.
        StorageUnavailable: Storage failed.
        UnsupportedFeature: This version does not read the format of the file.
    """
    with _read_errors(path), file_io.open_input(path) as source:
        file = _format_reader(source, file_io, path, file_meta, written)
        rows = sum(file.row_counts)
        if rows != file_meta.row_count:
            message = f"data file {path} has {rows} rows, expected {file_meta.row_count} by its manifest entry"
            raise CorruptData(message)
        yield file


def _format_reader(
    source: InputFile, file_io: FileIO, path: str, file_meta: DataFileMeta, written: TableSchema
) -> FormatReader:
    """Return the reader of the file's format, which the suffix of its name determines."""
    match file_meta.file_name.rpartition(".")[2]:
        case "parquet":
            return ParquetFormatReader(source, path, reopen=lambda: file_io.open_input(path))
        case "orc":
            return OrcFormatReader(source, path, written)
        case "avro":
            return AvroFormatReader(source, path)
        case other:
            message = f"data file {path} is of the format `{other}`"
            problem = Problem(
                field="file.format",
                value=other,
                message="this version reads parquet, orc and avro",
            )
            raise UnsupportedFeature(message, problems=[problem])


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        message = (
            f"data file {path} does not exist, although a manifest lists it\n"
            "hint: its snapshot may have expired while it was read; read a newer one"
        )
        raise CorruptData(message) from error
    except (pa.ArrowException, ValueError) as error:
        message = f"data file {path} cannot be decoded: {error}"
        raise CorruptData(message) from error
    except OSError as error:
        # Errors of the system have an `errno`, errors of Arrow's decoders do not.
        if error.errno is None:
            message = f"data file {path} cannot be decoded: {error}"
            raise CorruptData(message) from error
        message = f"cannot read data file {path}: {error}"
        raise StorageUnavailable(message) from error
