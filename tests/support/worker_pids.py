"""Workers of a server that has several: which processes they are, and whether a process has ended."""

from contextlib import suppress
from pathlib import Path


def worker_pids(parent: int) -> set[int]:
    """Return the processes that a parent has spawned as workers and that have not ended."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The command's name, in brackets, may have spaces.
            state, ppid, *_ = (
                (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            )
            command = (folder / "cmdline").read_bytes()
            if int(ppid) == parent and state != "Z" and b"spawn_main" in command:
                found.add(int(folder.name))
    return found


def has_ended(pid: int) -> bool:
    """Return whether a process has ended, with all of its threads; its parent may not know it yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return True
    # The first thread can have ended before the others, which keep the process's sockets open.
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"} and threads <= 1
