"""The guarantees of storage, kept by every implementation."""

import threading
from pathlib import Path

import pytest

from braid.demo.s3_server import S3Server
from braid.lake.files.storage.file_io import FileIO, FileStatus
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.files.storage.memory import MemoryFileIO
from tests.support.s3_storage import s3_file_io


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.integration)])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file_io(store: str, request: pytest.FixtureRequest) -> FileIO:
    if store == "s3":
        return s3_file_io(request.getfixturevalue("s3_server"))
    return LocalFileIO() if store == "local" else MemoryFileIO()


@pytest.fixture
def root(store: str, tmp_path: Path) -> str:
    return f"s3://{S3Server.bucket}{tmp_path}" if store == "s3" else str(tmp_path)


def test_what_is_written_is_read(file_io: FileIO, root: str) -> None:
    file_io.write_new(f"{root}/a/b/file", b"0123456789")

    assert file_io.read_bytes(f"{root}/a/b/file") == b"0123456789"
    assert file_io.read_range(f"{root}/a/b/file", 3, 4) == b"3456"
    assert file_io.read_range(f"{root}/a/b/file", 8, 9) == b"89"
    assert file_io.size(f"{root}/a/b/file") == 10
    with file_io.open_input(f"{root}/a/b/file") as source:
        source.seek(5)
        assert source.read() == b"56789"


def test_an_absent_file_raises_file_not_found(file_io: FileIO, root: str) -> None:
    path = f"{root}/absent"

    for read in (file_io.read_bytes, file_io.open_input, file_io.size):
        with pytest.raises(FileNotFoundError):
            read(path)
    with pytest.raises(FileNotFoundError):
        file_io.read_range(path, 0, 1)
    assert not file_io.exists(path)
    assert not file_io.delete(path)
    assert file_io.list(path) == []
    file_io.delete_tree(path)


def test_a_new_file_never_replaces_one(file_io: FileIO, root: str) -> None:
    file_io.write_new(f"{root}/file", b"old")

    with pytest.raises(FileExistsError):
        file_io.write_new(f"{root}/file", b"new")
    assert file_io.read_bytes(f"{root}/file") == b"old"


def test_an_output_appears_when_its_context_ends(file_io: FileIO, root: str) -> None:
    with file_io.open_output(f"{root}/d/file") as sink:
        sink.write(b"abc")

    assert file_io.read_bytes(f"{root}/d/file") == b"abc"


def test_an_output_vanishes_when_its_context_fails(file_io: FileIO, root: str) -> None:
    def write_half() -> None:
        with file_io.open_output(f"{root}/file") as sink:
            sink.write(b"abc")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        write_half()

    assert not file_io.exists(f"{root}/file")


def test_exclusive_creation_succeeds_once(file_io: FileIO, root: str) -> None:
    assert file_io.create_exclusive(f"{root}/d/file", b"first")
    assert not file_io.create_exclusive(f"{root}/d/file", b"second")
    assert file_io.read_bytes(f"{root}/d/file") == b"first"
    assert [status.name for status in file_io.list(f"{root}/d")] == ["file"]


def test_exactly_one_of_many_threads_creates(file_io: FileIO, root: str) -> None:
    barrier = threading.Barrier(8)
    winners: list[int] = []

    def create(number: int) -> None:
        barrier.wait()
        if file_io.create_exclusive(f"{root}/file", str(number).encode()):
            winners.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(winners) == 1
    assert file_io.read_bytes(f"{root}/file") == str(winners[0]).encode()


def test_overwriting_replaces(file_io: FileIO, root: str) -> None:
    file_io.overwrite(f"{root}/d/hint", b"1")
    file_io.overwrite(f"{root}/d/hint", b"2")

    assert file_io.read_bytes(f"{root}/d/hint") == b"2"
    assert [status.name for status in file_io.list(f"{root}/d")] == ["hint"]


def test_a_listing_holds_direct_children_by_name(file_io: FileIO, root: str) -> None:
    file_io.write_new(f"{root}/d/b", b"12")
    file_io.write_new(f"{root}/d/a", b"")
    file_io.write_new(f"{root}/d/sub/c", b"x")

    found = file_io.list(f"{root}/d")

    assert [(status.name, status.size, status.is_directory) for status in found] == [
        ("a", 0, False),
        ("b", 2, False),
        ("sub", 0, True),
    ]
    assert isinstance(found[0], FileStatus)


def test_a_listing_of_a_tree_holds_files_of_any_depth(file_io: FileIO, root: str) -> None:
    for name in ("d/b", "d/a/x/y", "d/a-b", "d2/c"):
        file_io.write_new(f"{root}/{name}", b"12")

    found = file_io.list_tree(f"{root}/d/")

    assert [status.path.removeprefix(root) for status in found] == ["/d/a-b", "/d/a/x/y", "/d/b"]
    assert {(status.size, status.is_directory) for status in found} == {(2, False)}
    assert min(status.modified_ms for status in found) > 0
    assert list(file_io.list_tree(f"{root}/absent")) == []


def test_deleting_a_file_returns_whether_it_existed(file_io: FileIO, root: str) -> None:
    file_io.write_new(f"{root}/file", b"")

    assert file_io.delete(f"{root}/file")
    assert not file_io.delete(f"{root}/file")
    assert not file_io.exists(f"{root}/file")


def test_deleting_a_tree_deletes_all_of_it_and_no_neighbour(file_io: FileIO, root: str) -> None:
    for path in ("t/a", "t/d/b", "tt/c"):
        file_io.write_new(f"{root}/{path}", b"")

    file_io.delete_tree(f"{root}/t")

    assert not file_io.exists(f"{root}/t")
    assert file_io.exists(f"{root}/tt/c")


def test_directories_of_files_exist(file_io: FileIO, root: str) -> None:
    file_io.write_new(f"{root}/d/e/file", b"")

    assert file_io.has_directory(f"{root}/d")
    assert file_io.has_directory(f"{root}/d/e")
    assert not file_io.exists(f"{root}/d/f")


def test_a_missing_directory_is_absent_only_on_stores_with_directories(
    file_io: FileIO, store: str, root: str
) -> None:
    assert file_io.has_directory(f"{root}/absent") == (store == "s3")


def test_names_are_kept_letter_by_letter(file_io: FileIO, root: str) -> None:
    names = sorted(
        ["dt=2020-01-01 00%3A00", "a#b?c", "a&b+c", "~ü{}", ".hidden.tmp", 'a"b|c^d`e<f>']
    )
    for name in names:
        file_io.write_new(f"{root}/d/{name}", name.encode())

    assert [status.name for status in file_io.list(f"{root}/d")] == names
    assert [file_io.read_bytes(f"{root}/d/{name}").decode() for name in names] == names


def test_ranges_beyond_the_end_are_empty(file_io: FileIO, root: str) -> None:
    file_io.write_new(f"{root}/file", b"0123")
    file_io.write_new(f"{root}/empty", b"")

    assert file_io.read_range(f"{root}/file", 4, 1) == b""
    assert file_io.read_range(f"{root}/file", 1, 0) == b""
    with file_io.open_input(f"{root}/empty") as source:
        assert source.read() == b""
    with file_io.open_input(f"{root}/file") as source:
        assert source.read(0) == b""
        assert (source.size(), source.seek(2), source.read(9), source.tell()) == (4, 2, b"23", 4)


def test_large_files_are_written_and_read_whole(file_io: FileIO, root: str) -> None:
    blocks = [bytes([number]) * (1 << 20) for number in range(20)]

    with file_io.open_output(f"{root}/large") as sink:
        for block in blocks:
            sink.write(block)
        assert not file_io.exists(f"{root}/large") or isinstance(file_io, LocalFileIO)

    assert file_io.size(f"{root}/large") == 20 << 20
    assert file_io.read_bytes(f"{root}/large") == b"".join(blocks)
    with file_io.open_input(f"{root}/large") as source:
        source.seek(7 << 20)
        assert source.read(1 << 20) == blocks[7]
        assert source.read() == b"".join(blocks[8:])


def test_a_large_output_that_fails_leaves_nothing(file_io: FileIO, root: str) -> None:
    def write_half() -> None:
        with file_io.open_output(f"{root}/d/large") as sink:
            sink.write(bytes(20 << 20))
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        write_half()

    assert not file_io.exists(f"{root}/d/large")
    assert file_io.list(f"{root}/d") == []


def test_the_probe_accepts_storage_that_refuses_a_second_creation(
    file_io: FileIO, root: str
) -> None:
    file_io.probe_exclusive_create(f"{root}/d")

    assert file_io.list(f"{root}/d") == []
