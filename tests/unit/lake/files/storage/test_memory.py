"""Storage in memory removes directories with their last file."""

from braid.lake.files.storage.memory import MemoryFileIO


def test_a_directory_goes_with_its_last_file() -> None:
    file_io = MemoryFileIO()
    file_io.write_new("/a/b/c", b"")
    file_io.write_new("/a/d", b"")

    file_io.delete("/a/b/c")

    assert not file_io.exists("/a/b")
    assert file_io.exists("/a")
    assert [status.name for status in file_io.list("/a")] == ["d"]
