"""Storage on an object store: S3, Google Cloud Storage, Azure.

Differences from a disk, and their consequences:

- There are no directories: a listing returns the keys up to the next slash, nothing has to be created,
  and a directory vanishes with its last file.
- There is no rename, and none is needed: a file appears whole when its last request succeeds.
- Exclusive creation is a put with the condition that the key is absent (`If-None-Match: *`). The
  library repeats requests whose response was lost, and the repetition may be refused because the
  first request had its effect. So if the answer is that the file exists, the same call may have
  created it, and callers compare the content (see `FileIO`).
- `write_new` is repeated too: an existing file with the same content is the effect of an earlier try. The request that
  completes a large file of `open_output` is not repeated; if it fails, the size of the file decides.
- A request takes milliseconds rather than microseconds, so reads are gathered
  (`braid.lake.files.object_store.input`), and `parallel_reads` is above 1.
- The library has threads, which a forked process does not inherit. So calls in a process are
  refused if it was forked after object storage was used.

Source: Amazon S3 user guide, "Conditional writes"; RFC 9110, 13.1.2.
"""

import os
import random as random_module
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import obstore
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import AzureStore, ObjectStore

from braid.lake.errors import InvalidRequest, Problem, StorageUnavailable
from braid.lake.files.object_store.address import ObjectAddress, parse_object_address
from braid.lake.files.object_store.errors import (
    is_bucket_absent,
    is_conflict,
    is_out_of_range,
    is_retryable,
    store_error,
)
from braid.lake.files.object_store.input import TAIL_BYTES, RangedInput
from braid.lake.files.object_store.output import MultipartOutput
from braid.lake.files.object_store.settings import RETRIED_S_MAX, RETRIES_MAX, StoreSettings
from braid.lake.files.storage.exclusive_probe import probe_exclusive_create, probe_exclusive_race
from braid.lake.files.storage.file_io import FileStatus
from braid.lake.files.storage.positioned_input import ByteRange, PositionedInput

T = TypeVar("T")

_PARALLEL_READS: Final = 16
# The longest pause before the first retry, and before any.
_PAUSE_S: Final = 0.4
_PAUSE_S_MAX: Final = 10.0
_KEYS_PER_PAGE: Final = 1_000


class ObjectStoreFileIO:
    """Files in the buckets of one service; safe between threads.

    Picklable with its settings, without credentials (see `StoreSettings`).
    """

    parallel_reads = _PARALLEL_READS

    def __init__(
        self,
        settings: StoreSettings,
        *,
        random: random_module.Random | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create the storage; no request is made yet.

        Args:
            settings: Settings of the connection.
            random: Source of random waiting times; None means the system's.
            sleep: Waits for a number of seconds.
        """
        self._settings = settings
        self._random = random or random_module.SystemRandom()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._stores: dict[str, ObjectStore] = {}
        # Roots of buckets whose exclusive creation was tested under concurrency.
        self._raced: set[str] = set()

    def __reduce__(self) -> tuple[type["ObjectStoreFileIO"], tuple[StoreSettings]]:
        """Pickle only the settings."""
        return ObjectStoreFileIO, (self._settings,)

    @property
    def identity(self) -> StoreSettings:
        """A value that is equal for objects with the same files at the same addresses."""
        return self._settings

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file (see `FileIO`)."""
        return self._retried(path, lambda store, key: obstore.get(store, key).bytes().to_bytes())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return a part of a file (see `FileIO`)."""
        if length <= 0:
            # Stores refuse an empty range, so only the existence of the file is checked.
            self.size(path)
            return b""

        def read(store: ObjectStore, key: str) -> bytes:
            try:
                return obstore.get_range(store, key, start=offset, length=length).to_bytes()
            except BaseError as error:
                if is_out_of_range(error):
                    return b""
                raise

        return self._retried(path, read)

    def open_input(self, path: str) -> PositionedInput:
        """Return a seekable reader of a file (see `FileIO`)."""

        def read_tail(store: ObjectStore, key: str) -> tuple[int, bytes]:
            if isinstance(store, AzureStore):  # has no ranges that count from the end
                size = obstore.head(store, key)["size"]
                start = max(0, size - TAIL_BYTES)
                return size, self.read_range(path, start, size - start)
            try:
                found = obstore.get(store, key, options={"range": {"suffix": TAIL_BYTES}})
                return found.meta["size"], found.bytes().to_bytes()
            except BaseError as error:
                if is_out_of_range(error):  # an empty file has no last bytes
                    return 0, b""
                raise

        size, tail = self._retried(path, read_tail)
        return RangedInput(partial(self._read_ranges, path), size=size, tail=tail)

    def _read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        begins, ends = zip(*ranges, strict=True)
        found = self._retried(
            path,
            # The library must not join ranges: those that should share a request are joined already.
            lambda store, key: obstore.get_ranges(store, key, starts=begins, ends=ends, coalesce=0),
        )
        assert len(found) == len(ranges), "one answer per range"
        return [part.to_bytes() for part in found]

    @contextmanager
    def open_output(self, path: str) -> Iterator[pa.NativeFile]:
        """Open a new file, which appears whole at the end of the context; after an error it does not appear."""
        output = MultipartOutput(
            open_upload=lambda part_bytes: self._once(
                path,
                lambda store, key: obstore.open_writer(
                    store, key, buffer_size=part_bytes, max_concurrency=3
                ),
            ),
            put=lambda data: self.write_new(path, data),
            guard=lambda call: self._once(path, lambda _store, _key: call()),
        )
        with output:
            yield pa.PythonFile(output, mode="w")
        # The request that completes an upload cannot be repeated. It may have succeeded although its response
        # was lost. No other writer uses the name, so a file of this size is the one written here.
        if output.error is not None and self._size_or_none(path) != output.size:
            message = f"storage failed at the end of {path}: {output.error}"
            raise StorageUnavailable(message) from output.error

    def write_new(self, path: str, data: bytes) -> None:
        """Write a new file (see `FileIO`)."""

        def write(store: ObjectStore, key: str) -> bool:
            return _put_if_absent(store, key, data)

        # No other writer should use the name; the condition detects one that does. An existing file with the
        # same content is the effect of an earlier try.
        if not self._put(path, write) and self.read_bytes(path) != data:
            raise FileExistsError(path)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists (see `FileIO`)."""
        return self._put(path, lambda store, key: _put_if_absent(store, key, data))

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a file atomically (see `FileIO`)."""
        self._put(path, lambda store, key: obstore.put(store, key, data, use_multipart=False))

    def list(self, path: str) -> list[FileStatus]:
        """Return the direct children of a directory (see `FileIO`)."""
        root = parse_object_address(path).root
        found = self._retried(
            path, lambda store, key: obstore.list_with_delimiter(store, f"{key}/" if key else None)
        )
        key = parse_object_address(path).key
        files = [
            _file_status(root, meta)
            for meta in found["objects"]
            # Other tools create empty objects as directories.
            if meta["path"] != key
        ]
        directories = [
            FileStatus(path=f"{root}/{prefix}", size=0, modified_ms=0, is_directory=True)
            for prefix in found["common_prefixes"]
        ]
        return sorted(files + directories, key=lambda status: status.path)

    def list_tree(self, path: str) -> Sequence[FileStatus]:
        """Return all files below a directory (see `FileIO`)."""
        address = parse_object_address(path)
        found = self._retried(
            path,
            lambda store, key: [
                meta
                for page in obstore.list(store, f"{key}/" if key else None)
                for meta in page
                if meta["path"] != key
            ],
        )
        files = [_file_status(address.root, meta) for meta in found]
        return sorted(files, key=lambda status: status.path)

    def exists(self, path: str) -> bool:
        """Return whether a file exists (see `FileIO`)."""
        return self._size_or_none(path) is not None

    def has_directory(self, path: str) -> bool:
        """Return True if the bucket can be listed: writing needs no directory there."""
        self._retried(
            path,
            lambda store, key: next(
                iter(obstore.list(store, f"{key}/" if key else None, chunk_size=1)), None
            ),
        )
        return True

    def size(self, path: str) -> int:
        """Return the size of a file in bytes (see `FileIO`)."""
        return self._retried(path, lambda store, key: obstore.head(store, key)["size"])

    def modified_ms(self, path: str) -> int | None:
        """Return the time of the last write of a file (see `FileIO`)."""
        found = self._retried(path, lambda store, key: obstore.head(store, key)["last_modified"])
        return int(found.timestamp() * 1000)

    def delete(self, path: str) -> bool:
        """Delete one file; return whether it existed (see `FileIO`)."""
        # A delete request succeeds for an absent file too, and a repeated one could not know.
        if not self.exists(path):
            return False
        self._retried(path, _delete)
        return True

    def delete_tree(self, path: str) -> None:
        """Delete all files below a path (see `FileIO`)."""

        def delete(store: ObjectStore, key: str) -> None:
            for page in obstore.list(store, f"{key}/" if key else None, chunk_size=_KEYS_PER_PAGE):
                obstore.delete(store, [meta["path"] for meta in page])

        self._retried(path, delete)

    def sync_directory(self, path: str) -> None:
        """Do nothing: a deletion is durable when the store has acknowledged it."""

    def probe_exclusive_create(self, directory: str) -> None:
        """Test that a second creation is refused; once per bucket, test it with concurrent calls too."""
        probe_exclusive_create(self, directory)
        root = parse_object_address(directory).root
        if root not in self._raced:
            probe_exclusive_race(self, directory)
            self._raced.add(root)

    def _size_or_none(self, path: str) -> int | None:
        try:
            return self.size(path)
        except FileNotFoundError:
            return None

    def _retried(self, path: str, call: Callable[[ObjectStore, str], T]) -> T:
        """Call `call`, which must be repeatable, with the store and the key of a path; repeat it on failure."""
        end_s = time.monotonic() + RETRIED_S_MAX
        for retry in range(RETRIES_MAX):
            try:
                return self._called(path, call)
            except BaseError as error:
                if not is_retryable(error) or time.monotonic() >= end_s:
                    raise self._translated(error, path) from None
            # A random pause, so that clients that failed together do not try again together.
            self._sleep(self._random.uniform(0, min(_PAUSE_S_MAX, _PAUSE_S * 2**retry)))
        return self._once(path, call)

    def _put(self, path: str, call: Callable[[ObjectStore, str], T]) -> T:
        """Make a request that creates a file, for which "not found" is not a valid response."""
        try:
            return self._retried(path, call)
        except FileNotFoundError:
            message = f"storage failed at {path}: status 404 in response to the creation of a file"
            raise StorageUnavailable(message) from None

    def _once(self, path: str, call: Callable[[ObjectStore, str], T]) -> T:
        """Call `call` once; the library may still repeat its requests."""
        try:
            return self._called(path, call)
        except (BaseError, ValueError) as error:
            raise self._translated(error, path) from None

    def _called(self, path: str, call: Callable[[ObjectStore, str], T]) -> T:
        address = parse_object_address(path)
        try:
            return call(self._store(address), address.key)
        except FileNotFoundError as error:
            # Status 404 means a missing file or a missing bucket.
            if is_bucket_absent(error):
                raise self._translated(error, path) from None
            raise FileNotFoundError(path) from None

    def _translated(self, error: Exception, path: str) -> Exception:
        return store_error(error, path, parse_object_address(path), self._settings.endpoint)

    def _store(self, address: ObjectAddress) -> ObjectStore:
        with self._lock:
            _check_process()
            store = self._stores.get(address.root)
            if store is None:
                store = self._stores[address.root] = self._settings.open(address)
        return store


# Id of the process that has used an object store; at most one entry. State of the module, because the library's
# threads belong to the process and not to an object.
_STARTED_IN: Final[set[int]] = set()


def _check_process() -> None:
    """Refuse calls that would never return: a forked process does not have the library's threads.

    Raises:
        InvalidRequest: The process was forked from one that had used an object store.
    """
    if not _STARTED_IN:
        _STARTED_IN.add(os.getpid())
    elif os.getpid() not in _STARTED_IN:
        problem = Problem(
            field="process",
            value=str(os.getpid()),
            message="this process was forked from one that had used an object store",
            hint="start it as a new process (multiprocessing: `spawn` or `forkserver`), or fork "
            "it before an object store is used",
        )
        message = "an object store cannot be used in this forked process"
        raise InvalidRequest(message, problems=[problem])


def _file_status(root: str, meta: Mapping[str, Any]) -> FileStatus:
    return FileStatus(
        path=f"{root}/{meta['path']}",
        size=meta["size"],
        modified_ms=int(meta["last_modified"].timestamp() * 1000),
        is_directory=False,
    )


def _put_if_absent(store: ObjectStore, key: str, data: bytes) -> bool:
    try:
        obstore.put(store, key, data, mode="create", use_multipart=False)
    except AlreadyExistsError as error:
        # S3 responds with 409 while another request, which may still fail, creates the file; other stores do
        # so when the file exists. If the file does not exist, the put has to be repeated: status 409 is
        # retryable.
        if is_conflict(error) and not _exists(store, key):
            raise
        return False
    return True


def _exists(store: ObjectStore, key: str) -> bool:
    try:
        obstore.head(store, key)
    except FileNotFoundError:
        return False
    return True


def _delete(store: ObjectStore, key: str) -> None:
    # Another process may have deleted the file meanwhile, which some services report as an error.
    try:
        obstore.delete(store, key)
    except FileNotFoundError as error:
        if is_bucket_absent(error):
            raise
