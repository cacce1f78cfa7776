"""Errors of decoders, reported as corrupt data with the file's path.

Errors of this engine with another meaning, such as `UnsupportedFeature`, stay as they are.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from braid.lake.errors import CorruptData, LakeError


@contextmanager
def corrupt_at(path: str) -> Iterator[None]:
    """Add the file's path to errors of its decoder; the block must not do I/O.

    Raises:
        CorruptData: The bytes are not what the format says.
        LakeError: Any other error of this engine, unchanged.
    """
    try:
        yield
    except CorruptData as error:
        message = f"{path}: {error}"
        raise CorruptData(message) from error
    except LakeError:
        raise
    except Exception as error:
        # Arbitrary bytes fail in arbitrary ways, in libraries too, so every exception counts.
        message = f"{path}: the file cannot be decoded: {error!r}"
        raise CorruptData(message) from error
