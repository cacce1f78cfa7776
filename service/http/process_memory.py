"""Settings of the C library's allocator for a process that serves from many threads.

By itself glibc gives up to eight arenas per core to threads, and each keeps the most that its thread
has ever held; blocks of up to 32 MiB come from them, too, once one of that size has been freed. So
memory goes up with each large request that happens to run in another thread, and never down. With few
arenas, and large blocks of their own, which go back when they are freed, it stays at what is in use.
"""

import ctypes
from collections.abc import Callable, Mapping
from typing import Final

# The numbers of mallopt(3), and the variables by which operators decide otherwise.
_SETTINGS: Final = (
    (-8, "MALLOC_ARENA_MAX", 2),
    (-3, "MALLOC_MMAP_THRESHOLD_", 128 << 10),
    (-1, "MALLOC_TRIM_THRESHOLD_", 128 << 10),
)
_TUNABLES: Final = "GLIBC_TUNABLES"


Mallopt = Callable[[int, int], int]


def bound_memory(environ: Mapping[str, str], mallopt: Mallopt | None) -> None:
    """Set what nobody has set from outside.

    Args:
        environ: The process's variables.
        mallopt: The allocator's function; None: it has no such settings.
    """
    if mallopt is None or "glibc.malloc" in environ.get(_TUNABLES, ""):
        return
    for number, variable, value in _SETTINGS:
        if variable not in environ:
            mallopt(number, value)


def glibc_mallopt() -> Mallopt | None:
    """Return the function of this process; None with musl and on macOS, whose allocators differ."""
    library = ctypes.CDLL(None)
    return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
