"""Versioned documents: each version is a separate file, which is created exclusively.

```
<directory>/00000000000000000001.json
<directory>/00000000000000000002.json      the newest is the document
```

1. A reader lists the directory and reads the highest version.
2. A writer that has read version N creates N + 1. Exclusive creation is the compare-and-swap: of two writers, one
   fails because the file exists, and reads again.
3. The last ten superseded versions are kept, because a reader may be between its list and its read. So are all
   versions that were superseded within the last ten minutes; for leases, within the last minute. A writer that
   slept for longer could create a file whose number was used before and deleted. So each writer lists again after
   the creation, and removes its file if it came too late (`create`).
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from braid.lake import Clock, FileIO

KEPT_VERSIONS = 10
KEPT_MS = 10 * 60 * 1000  # longer than any request, and than a plausible pause of a process
SUFFIX = ".json"
READ_ATTEMPTS = 5  # an attempt fails only if the reader slept for KEPT_MS between list and read

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned(Generic[ValueT]):
    """A value and the version of the document that held it.

    Attributes:
        version: The number of the version, from 1; the newest versions have no holes between them.
        value: The version's content.
        modified_ms: Time of the write, milliseconds since the epoch by storage's clock.
    """

    version: int
    value: ValueT
    modified_ms: int = field(default=0, compare=False)


def version_number(name: str) -> int | None:
    """Return the number of the version that a file of this name holds; None: it holds none."""
    stem = name.removesuffix(SUFFIX)
    return int(stem) if stem != name and stem.isdigit() else None


class VersionedFile:
    """One versioned document: a directory of numbered files."""

    def __init__(
        self,
        file_io: FileIO,
        directory: str,
        *,
        clock: Clock,
        kept_versions: int = KEPT_VERSIONS,
        kept_ms: int | None = KEPT_MS,
    ) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            directory: The directory of the versions.
            clock: Tells the age of superseded versions.
            kept_versions: Superseded versions that are kept whatever their age.
            kept_ms: Age up to which older ones are kept as well, milliseconds; None: they are deleted at once.
        """
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
            except FileNotFoundError:  # deleted between list and read, so a newer one exists
                continue
            return Versioned(version=newest, value=data, modified_ms=versions[newest])
        raise FileNotFoundError(self._directory)

    def newest_number(self) -> int:
        """Return the number of the newest version; 0 when there is none. One list."""
        return max(self._versions(), default=0)

    def read(self, version: int) -> bytes | None:
        """Return a version; None when it does not exist, or not any more."""
        try:
            return self._file_io.read_bytes(self._path(version))
        except FileNotFoundError:
            return None

    def create(self, version: int, data: bytes) -> bool:
        """Create a version; return False when the number is taken, or its version was superseded and deleted.

        Requires:
            The caller has read `version - 1`, or found no version at all and `version` is 1.
        """
        assert version >= 1
        if not self._file_io.create_exclusive(self._path(version), data):
            # A client of an object store repeats a request whose response was lost; the second one is
            # refused by the file of the first. Equal content means that this write has succeeded.
            return self._holds(version, data)
        # Exclusive creation proves that no file of the name existed, not that none ever did. Live
        # versions have no holes, so a file without its neighbours is one that came too late.
        versions = self._versions()
        is_late = max(versions, default=version) > version and version + 1 not in versions
        if is_late or (version > 1 and version - 1 not in versions):
            # The file is in the hole that cleaning left, where no reader finds it; or the document was
            # deleted as a whole, and this version would restore it.
            self._file_io.delete(self._path(version))
            return False
        self._clean(versions)
        return True

    def delete_until(self, version: int) -> None:
        """Delete a version and all older ones; newer ones stay.

        Oldest first, and the version itself after the others are durably gone: at no time is one of them the newest.
        When the version is gone, another process has done the same, and the numbers of a new document may begin
        anew: this is looked for before each deletion.
        """
        last = self._path(version)
        for older in sorted(self._versions()):
            if not self._file_io.exists(last):
                return
            if older < version:
                self._file_io.delete(self._path(older))
        self._file_io.sync_directory(self._directory)
        if self._file_io.exists(last):
            self._file_io.delete(last)

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
            # The age of a superseded version counts from its successor's creation: until then it was
            # the newest, which readers may have listed.
            if self._kept_ms is not None and versions[successor] + self._kept_ms >= now_ms:
                break  # deletion in order, from the oldest on, leaves no hole between kept versions
            self._file_io.delete(self._path(version))

    def _versions(self) -> dict[int, int]:
        """Return the modification time in milliseconds since the epoch, by version."""
        return {
            number: status.modified_ms
            for status in self._file_io.list(self._directory)
            if (number := version_number(status.name)) is not None
        }

    def _path(self, version: int) -> str:
        return f"{self._directory}/{version:020d}{SUFFIX}"
