"""Directories that live as long as their process, however it ends."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.scratch import ScratchDirectory


def directories(base: Path) -> list[Path]:
    return [path for path in base.glob("braid-*/*") if path.is_dir()]


def test_it_is_made_and_removed_with_what_is_in_it(tmp_path: Path) -> None:
    scratch = ScratchDirectory(str(tmp_path))
    Path(scratch.new_path(".arrow")).write_bytes(b"x")
    assert directories(tmp_path) == [Path(scratch.path)]

    scratch.close()
    scratch.close()

    assert list(tmp_path.glob("braid-*/*")) == []


def test_paths_are_given_once() -> None:
    scratch = ScratchDirectory()

    assert len({scratch.new_path(".x") for _ in range(100)}) == 100
    scratch.close()


def test_a_removed_file_may_be_gone_already(tmp_path: Path) -> None:
    scratch = ScratchDirectory(str(tmp_path))
    path = scratch.new_path(".x")
    Path(path).write_bytes(b"x")

    scratch.remove(path)
    scratch.remove(path)

    assert not Path(path).exists()
    scratch.close()


def test_it_is_removed_when_its_owner_is_collected(tmp_path: Path) -> None:
    scratch = ScratchDirectory(str(tmp_path))
    assert len(directories(tmp_path)) == 1

    del scratch

    assert list(tmp_path.glob("braid-*/*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError"])
def test_a_process_that_ends_leaves_nothing_and_its_child_takes_nothing(
    tmp_path: Path, end: str
) -> None:
    program = f"""
        import os, sys
        from pathlib import Path
        from braid.lake.files.storage.scratch import ScratchDirectory
        scratch = ScratchDirectory(sys.argv[1])
        Path(scratch.new_path(".arrow")).write_bytes(b"left over")
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        print(len(os.listdir(scratch.path)), flush=True)
        {end}
    """
    arguments = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]

    done = subprocess.run(arguments, capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "1", done.stderr
    assert list(tmp_path.glob("braid-*/*")) == []


def test_that_of_a_living_process_is_left_alone_and_that_of_a_killed_one_removed(
    tmp_path: Path,
) -> None:
    program = """
        import sys
        from pathlib import Path
        from braid.lake.files.storage.scratch import ScratchDirectory
        scratch = ScratchDirectory(sys.argv[1])
        Path(scratch.new_path(".arrow")).write_bytes(b"left over")
        print(scratch.path, flush=True)
        sys.stdin.read()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        theirs = Path(process.stdout.readline().strip())
        ours = ScratchDirectory(str(tmp_path))
        assert sorted(directories(tmp_path)) == sorted([theirs, Path(ours.path)])

        process.kill()
        process.wait()
        third = ScratchDirectory(str(tmp_path))

    assert sorted(directories(tmp_path)) == sorted([Path(ours.path), Path(third.path)])
    ours.close()
    third.close()
    assert list(tmp_path.glob("braid-*/*")) == []


def test_a_base_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageUnavailable, match="temporary files"):
        ScratchDirectory(str(tmp_path / "file"))
