"""Target of an export: a file or a folder that is there when it is whole, and not before.

    .parcels.parquet.3f0c….part ──written, on disk──► parcels.parquet

What is written lies beside the target under another name, so that the last step is a rename within one
folder. An export that fails or is interrupted deletes it; one that is killed leaves it behind.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from lake import InvalidRequest, Problem


@contextmanager
def export_target(target: Path, *, is_folder: bool, overwrite: bool) -> Iterator[Path]:
    """Give the path to write to, which becomes the target when the block ends without an error.

    Args:
        target: The file or folder to be.
        is_folder: Whether it is a folder, which is made.
        overwrite: Whether a file that is there already may be replaced; a folder never is.

    Raises:
        InvalidRequest: It is there already, or where it is to be is no folder.
    """
    if target.parts and target.parts[0].endswith(":"):
        # A path has one slash where an address has two.
        shown = f"{target.parts[0]}//{target.relative_to(target.parts[0])}"
        raise _impossible(shown, "an export goes to this machine's disk", "name a path")
    if target.exists() and (is_folder or target.is_dir() or not overwrite):
        raise _refused(target, is_folder=is_folder)
    if not target.parent.is_dir():
        raise _impossible(str(target), "its folder is not there")
    part = target.parent / f".{target.name}.{uuid4().hex}.part"
    if is_folder:
        part.mkdir()
    try:
        yield part
        for file in part.iterdir() if is_folder else [part]:
            _to_disk(file)
        _publish(part, target, is_folder=is_folder, overwrite=overwrite)
        _to_disk(target.parent)
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _impossible(target: str, message: str, hint: str | None = None) -> InvalidRequest:
    problem = Problem(field="TARGET", value=target, message=message, hint=hint)
    return InvalidRequest(f"nothing can be exported to {target}", problems=[problem])


def _publish(part: Path, target: Path, *, is_folder: bool, overwrite: bool) -> None:
    try:
        if is_folder:
            _to_disk(part)
            part.rename(target)
        elif overwrite:
            part.replace(target)
        else:
            target.hardlink_to(part)  # fails where somebody else was first, which a rename does not
    except FileExistsError as error:
        raise _refused(target, is_folder=is_folder) from error


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(target: Path, *, is_folder: bool) -> InvalidRequest:
    is_kept = is_folder or target.is_dir()
    problem = Problem(
        field="TARGET",
        value=str(target),
        message="it is there already",
        hint="choose another name" if is_kept else "--overwrite replaces it",
    )
    return InvalidRequest(f"nothing was exported to {target}", problems=[problem])
