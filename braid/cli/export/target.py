"""Target of an export: a file or a folder that appears only when it is complete.

    .parcels.parquet.3f0c….part ──written, synced──► parcels.parquet

Rows are written to a temporary name beside the target, so that the last step is a rename within one folder. If a file
must not replace another, the last step is a hard link instead, which fails if the target exists. For a folder the
export first creates an empty folder with the target's name, which fails if the name exists, and then renames the
written folder to it; a rename alone would replace any empty folder. An export that fails or is interrupted deletes
what it wrote; a killed export leaves it behind.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from braid.lake import InvalidRequest, Problem


@contextmanager
def export_target(target: Path, *, is_folder: bool, overwrite: bool) -> Iterator[Path]:
    """Yield the path to write to; it becomes the target when the block ends without an error.

    Args:
        target: The file or folder to create.
        is_folder: Whether the target is a folder; the yielded path is then an empty folder.
        overwrite: Whether an existing file may be replaced; a folder never is.

    Raises:
        InvalidRequest: The target exists already, its parent folder does not exist, or the target is
            an address such as `s3://…`.
    """
    if target.parts and target.parts[0].endswith(":"):
        # `Path` has merged the two slashes of the address into one.
        shown = f"{target.parts[0]}//{target.relative_to(target.parts[0])}"
        raise _invalid(shown, "an export is written to a local disk", "give a local path")
    if target.exists() and (is_folder or target.is_dir() or not overwrite):
        raise _exists(target, is_folder=is_folder)
    if not target.parent.is_dir():
        raise _invalid(str(target), "its folder does not exist")
    part = target.parent / f".{target.name}.{uuid4().hex}.part"
    if is_folder:
        part.mkdir()
    try:
        yield part
        for file in part.iterdir() if is_folder else [part]:
            _sync(file)
        _publish(part, target, is_folder=is_folder, overwrite=overwrite)
        _sync(target.parent)
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _invalid(target: str, message: str, hint: str | None = None) -> InvalidRequest:
    problem = Problem(field="TARGET", value=target, message=message, hint=hint)
    return InvalidRequest(f"nothing can be exported to {target}", problems=[problem])


def _publish(part: Path, target: Path, *, is_folder: bool, overwrite: bool) -> None:
    try:
        if is_folder:
            _sync(part)
            target.mkdir()
            _rename_to_empty(part, target)
        elif overwrite:
            part.replace(target)
        else:
            # A hard link fails when the target has appeared meanwhile; a rename would replace it.
            target.hardlink_to(part)
    except FileExistsError as error:
        raise _exists(target, is_folder=is_folder) from error


def _rename_to_empty(part: Path, target: Path) -> None:
    """Rename a folder to one that was made empty.

    Raises:
        FileExistsError: Somebody has put something there meanwhile; it stays.
    """
    try:
        part.rename(target)
    except OSError as error:
        with suppress(OSError):
            target.rmdir()
        if error.errno == errno.ENOTEMPTY:
            raise FileExistsError(error.errno, error.strerror, str(target)) from error
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exists(target: Path, *, is_folder: bool) -> InvalidRequest:
    is_kept = is_folder or target.is_dir()
    problem = Problem(
        field="TARGET",
        value=str(target),
        message="it exists already",
        hint="choose another name" if is_kept else "--overwrite replaces it",
    )
    return InvalidRequest(f"nothing was exported to {target}", problems=[problem])
