"""Documents whose every version is a file of its own, created exclusively.

```
<directory>/00000000000000000001.json
<directory>/00000000000000000002.json      the newest is the document
```

1. A reader lists the directory and reads the highest version.
2. A writer that has read version N creates N + 1. Exclusive creation is the compare-and-swap:
   of two writers one is told that the file exists, and reads again.
3. Superseded versions are kept, ten and some minutes, because a reader may be between its list
   and its read. So a writer that slept for longer than that could create a version which has
   been used and deleted; it looks again afterwards and takes its file back (`create`).
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from lake import Clock, FileIO

KEPT_VERSIONS = 10
KEPT_MS = 10 * 60 * 1000  # longer than any request, and than a reasonable pause of a process
SUFFIX = ".json"
READ_ATTEMPTS = 5  # each lost only to a reader that slept for KEPT_MS

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned(Generic[ValueT]):
    """A value and the version of the document that held it.

    Attributes:
        version: From 1, without holes at the newest end.
        value: What it held.
        modified_ms: When it was written, milliseconds since the epoch by storage's clock.
    """

    version: int
    value: ValueT
    modified_ms: int = field(default=0, compare=False)


class VersionedFile:
    """One versioned document: a directory of numbered files."""

    def __init__(
        self,
        file_io: FileIO,
        directory: str,
        *,
        clock: Clock,
        kept_versions: int = KEPT_VERSIONS,
        kept_ms: int = KEPT_MS,
    ) -> None:
        self._file_io = file_io
        self._directory = directory
        self._clock = clock
        self._kept_versions = kept_versions
        self._kept_ms = kept_ms

    def latest(self) -> Versioned[bytes] | None:
        """Return the newest version; None when there is none. One list and one read."""
        for _ in range(READ_ATTEMPTS):
            versions = self._versions()
            if not versions:
                return None
            newest = max(versions)
            try:
                data = self._file_io.read_bytes(self._path(newest))
            except FileNotFoundError:  # cleaned between list and read: there is a newer one
                continue
            return Versioned(version=newest, value=data, modified_ms=versions[newest])
        raise FileNotFoundError(self._directory)

    def read(self, version: int) -> bytes | None:
        """Return a version; None when it is not there, or not any more."""
        try:
            return self._file_io.read_bytes(self._path(version))
        except FileNotFoundError:
            return None

    def create(self, version: int, data: bytes) -> bool:
        """Create a version; False when it is taken or was superseded long ago.

        Requires:
            The caller has seen version - 1, or no version at all when it is 1.
        """
        assert version >= 1
        if not self._file_io.create_exclusive(self._path(version), data):
            # A store that repeats requests may refuse what it has just done for us.
            return self._holds(version, data)
        versions = self._versions()
        is_late = max(versions, default=version) > version and version + 1 not in versions
        if is_late or (version > 1 and version - 1 not in versions):
            # The file landed in the hole that cleaning left behind, and nobody will ever read it; or
            # the document is gone as a whole, and this would bring it back.
            self._file_io.delete(self._path(version))
            return False
        self._clean(versions)
        return True

    def _holds(self, version: int, data: bytes) -> bool:
        try:
            return self._file_io.read_bytes(self._path(version)) == data
        except FileNotFoundError:
            return False

    def _clean(self, versions: dict[int, int]) -> None:
        now_ms = self._clock.now_ms()
        ordered = sorted(versions)
        superseded = pairwise(ordered)
        for version, successor in list(superseded)[: -self._kept_versions]:
            # A version is as old as its successor: until then it was the newest.
            if versions[successor] + self._kept_ms >= now_ms:
                break  # Deleting from the oldest on leaves no hole between kept versions.
            self._file_io.delete(self._path(version))

    def _versions(self) -> dict[int, int]:
        """Return the time of modification, milliseconds, by version."""
        return {
            int(name.removesuffix(SUFFIX)): status.modified_ms
            for status in self._file_io.list(self._directory)
            if (name := status.name).removesuffix(SUFFIX).isdigit() and name.endswith(SUFFIX)
        }

    def _path(self, version: int) -> str:
        return f"{self._directory}/{version:020d}{SUFFIX}"
