"""Best-effort deletion deletes what it can and raises nothing."""

import pytest

from braid.lake import MemoryFileIO, StorageUnavailable
from braid.lake.files.best_effort_delete import delete_best_effort
from tests.support.faulty_file_io import FaultyFileIO


@pytest.mark.parametrize("error", [OSError(5, "broken"), StorageUnavailable("broken")])
def test_a_file_that_cannot_be_deleted_does_not_stop_the_others(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    inner = MemoryFileIO()
    for name in "abc":
        inner.write_new(f"/t/{name}", b"1")
    file_io = FaultyFileIO(inner)

    def fail(_: int, method: str, path: str) -> None:
        if path.endswith("b"):
            raise error

    file_io.before = fail
    delete_best_effort(file_io, ["/t/a", "/t/gone", "/t/b", "/t/c"])

    assert [status.name for status in inner.list("/t")] == ["b"]
    assert "/t/b" in caplog.text
    assert "/t/a" not in caplog.text
