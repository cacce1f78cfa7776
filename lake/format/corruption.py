"""Whatever fails while the bytes of a file are decoded is told as corrupt data, with its path."""

from collections.abc import Iterator
from contextlib import contextmanager

from lake.errors import CorruptData, LakeError


@contextmanager
def corrupt_at(path: str) -> Iterator[None]:
    """Name the file in every error of its decoder; no I/O belongs inside.

    Raises:
        CorruptData: The bytes are not what the format says.
    """
    try:
        yield
    except CorruptData as error:
        message = f"{path}: {error}"
        raise CorruptData(message) from error
    except LakeError:
        raise
    except Exception as error:
        # Bytes that are arbitrary fail in arbitrary ways, in libraries too.
        message = f"{path}: the file cannot be decoded: {error!r}"
        raise CorruptData(message) from error
