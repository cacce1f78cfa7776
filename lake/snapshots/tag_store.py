"""Store of the tag files of a table; the names of its branches; and checks of names that become parts of file names."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from braid.lake.errors import CorruptData, InvalidRequest, Problem
from braid.lake.files.paths import BRANCH_PREFIX, TAG_PREFIX, TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.tag import Tag, parse_tag, serialize_tag


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFile:
    """The file of one tag.

    Attributes:
        name: Name of the tag.
        tag: Content of the file; None if the file cannot be parsed.
        error: Why the file cannot be parsed, without its path; None if it can.
    """

    name: str
    tag: Tag | None
    error: str | None = None


class TagStore:
    """Reads, creates and deletes tag files of one branch; caches nothing."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def names(self) -> list[str]:
        """Return the names of all tags in alphabetical order. One listing."""
        return _names(self._file_io, self._paths.tag_dir, TAG_PREFIX, is_directory=False)

    def files(self) -> list[TagFile]:
        """Return all tags, also those that cannot be read, which come last; otherwise as `list`."""
        found = []
        for name in self.names():
            path = self._paths.tag(name)
            try:
                tag = self._read(name, path)
            except CorruptData as error:
                found.append(
                    TagFile(name=name, tag=None, error=str(error).removeprefix(f"{path}: "))
                )
                continue
            if tag is not None:
                found.append(TagFile(name=name, tag=tag))
        by_snapshot = {file.name: file.tag.snapshot.id for file in found if file.tag is not None}
        last = max(by_snapshot.values(), default=0) + 1
        return sorted(found, key=lambda file: (by_snapshot.get(file.name, last), file.name))

    def list(self) -> list[Tag]:
        """Return all tags in the order of snapshot id and name, without tags that are deleted meanwhile.

        Raises:
            CorruptData: A tag file cannot be read, so it is unknown which files it keeps.
        """
        found = [self._read(name, self._paths.tag(name)) for name in self.names()]
        tags = [tag for tag in found if tag is not None]
        return sorted(tags, key=lambda tag: (tag.snapshot.id, tag.name))

    def find(self, name: str) -> Tag | None:
        """Return one tag, or None if there is none of that name.

        Raises:
            InvalidRequest: There is none, and the name is not valid.
            CorruptData: The file cannot be read.
        """
        return self._read(name, self._path(name))

    def get(self, name: str) -> Tag:
        """Return one tag.

        Raises:
            InvalidRequest: There is no tag of that name; the message lists the existing ones.
            CorruptData: The file cannot be read.
        """
        tag = self.find(name)
        if tag is None:
            raise _no_such(name, self.names(), what="tag")
        return tag

    def create(self, tag: Tag) -> bool:
        """Create a tag file exclusively.

        Returns:
            True if the tag exists now. False if there is a tag of that name with other content, which is
            left unchanged.

        Raises:
            InvalidRequest: The name is not valid.
        """
        path = self._paths.tag(checked_name(tag.name, field="tag"))
        data = serialize_tag(tag)
        if self._file_io.create_exclusive(path, data):
            return True
        # A store that repeats requests by itself may refuse the repetition of a request that succeeded.
        try:
            return self._file_io.read_bytes(path) == data
        except FileNotFoundError:
            return False

    def delete(self, name: str) -> bool:
        """Delete a tag file durably, but no file that it keeps; return whether it existed.

        Raises:
            InvalidRequest: There is none, and the name is not valid.
        """
        is_deleted = self._file_io.delete(self._path(name))
        # Next the caller deletes the files that only this tag has kept: a tag that reappeared after a power
        # failure would reference deleted files.
        self._file_io.sync_directory(self._paths.tag_dir)
        return is_deleted

    def _read(self, name: str, path: str) -> Tag | None:
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError:
            return None
        with corrupt_at(path):
            return parse_tag(data, name=name)

    def _path(self, name: str) -> str:
        return self._paths.tag(existing_name(name, field="tag", listed=self.names))


def list_branches(file_io: FileIO, paths: TablePaths) -> list[str]:
    """Return the names of a table's branches, without the main one, in alphabetical order."""
    return _names(file_io, paths.branches_dir, BRANCH_PREFIX, is_directory=True)


def branch_paths(file_io: FileIO, paths: TablePaths, name: str) -> TablePaths:
    """Return the paths of a branch.

    Raises:
        InvalidRequest: There is no branch of that name; the message lists the existing ones.
    """
    names = list_branches(file_io, paths)
    if name not in names:
        raise _no_such(name, names, what="branch")
    return replace(paths, branch=name)


def checked_name(name: str, *, field: str) -> str:
    """Return a name if it can be a part of a file's name.

    Args:
        name: Name of a tag, branch or consumer.
        field: What the name is for, as text for the error.

    Raises:
        InvalidRequest: The name is blank, begins or ends with a blank, or has a slash or a character that
            cannot be printed.
    """
    is_text = isinstance(name, str)
    if is_text and name.strip() == name != "" and "/" not in name and name.isprintable():
        return name
    problem = Problem(
        field=field,
        value=name if is_text and name.isprintable() else repr(name),
        message="expected a name without `/`, control characters and surrounding blanks",
    )
    message = f"the name of the {field} is not valid"
    raise InvalidRequest(message, problems=[problem])


def existing_name(name: str, *, field: str, listed: Callable[[], Collection[str]]) -> str:
    """Return a name that can be a part of a file's name, or that is part of the name of a listed file.

    Another program may have put a file there whose name this one would refuse. It counts as any other:
    what a tag or consumer keeps must not depend on its name.

    Args:
        name: Name of a tag or consumer.
        field: What the name is for, as text for the error.
        listed: Returns the names of all files; called only for a name that would be refused.

    Raises:
        InvalidRequest: The name is neither.
    """
    try:
        return checked_name(name, field=field)
    except InvalidRequest:
        if name in listed():
            return name
        raise


def _names(file_io: FileIO, directory: str, prefix: str, *, is_directory: bool) -> list[str]:
    return sorted(
        status.name.removeprefix(prefix)
        for status in file_io.list(directory)
        if status.is_directory == is_directory
        and status.name.startswith(prefix)
        and status.name != prefix
    )


def _no_such(name: str, names: list[str], *, what: str) -> InvalidRequest:
    expected = f"expected one of {', '.join(names)}" if names else f"the table has no {what}"
    problem = Problem(field=what, value=name, message=f"there is no such {what}; {expected}")
    return InvalidRequest(f"{what} `{name}` does not exist", problems=[problem])
