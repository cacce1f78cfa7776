"""Children end with their parent, however it ends, and show why when they end before."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.demo.processes import ProcessFailed, Supervisor
from tests.support.waiting import PATIENCE_S, wait_until

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('up', flush=True); time.sleep(600)",
]

# A parent with one child; its argument chooses how it ends.
PARENT = """\
import os, signal, sys, time
from pathlib import Path
from braid.demo.processes import Supervisor
# A shell that runs the tests in the background has them ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder, how = Path(sys.argv[1]), sys.argv[2]
supervisor = Supervisor(folder)
def start():
    child = supervisor.start("child", [sys.executable, "-c", "import time; time.sleep(600)"])
    print(child.process_id, flush=True)
if how == "atexit":
    start()
elif how == "error":
    with supervisor:
        start()
        raise SystemExit(3)
else:
    with supervisor:
        start()
        time.sleep(600)
"""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path) as open_supervisor:
        yield open_supervisor


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process_id}/stat")
    return not (stat.exists() and ") Z " in stat.read_text())


def test_child_has_a_log_an_empty_input_and_our_environment(supervisor: Supervisor) -> None:
    program = "import os, sys; print(repr(sys.stdin.read()), os.environ['EXTRA'], bool(os.environ['PATH']))"

    child = supervisor.start("one", [sys.executable, "-c", program], environment={"EXTRA": "x"})

    assert child.wait(timeout_s=PATIENCE_S) == 0
    assert child.log_path.read_text() == "'' x True\n"


def test_module_is_started_with_this_python(supervisor: Supervisor) -> None:
    child = supervisor.start_module("platform", "platform", "--terse")

    assert child.wait(timeout_s=PATIENCE_S) == 0
    assert child.read_log_tail()


def test_wait_ready_returns_when_the_predicate_holds(supervisor: Supervisor) -> None:
    child = supervisor.start("ready", SLEEP)
    answers: Iterator[OSError | bool] = iter([OSError("refused"), False, True])

    def is_ready() -> bool:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)

    assert child.is_running
    assert [running.name for running in supervisor.children] == ["ready"]


def test_child_that_ends_before_it_is_ready_shows_its_last_lines(supervisor: Supervisor) -> None:
    child = supervisor.start("broken", [sys.executable, "-c", "raise SystemExit('no such table')"])

    with pytest.raises(
        ProcessFailed, match=r"broken ended with exit status 1 before[^\0]*no such table"
    ) as caught:
        child.wait_ready(lambda: False, timeout_s=PATIENCE_S)

    assert caught.value.return_code == 1


def test_child_that_is_not_ready_in_time_shows_its_last_lines(supervisor: Supervisor) -> None:
    child = supervisor.start("slow", SLEEP)
    child.wait_ready(lambda: child.read_log_tail() == "up", timeout_s=PATIENCE_S)

    with pytest.raises(ProcessFailed, match=r"slow was not ready after 0.1 s.*\nup"):
        child.wait_ready(lambda: False, timeout_s=0.1)


def test_stop_kills_a_child_that_ignores_sigterm(supervisor: Supervisor) -> None:
    child = supervisor.start("stubborn", STUBBORN)
    child.wait_ready(lambda: child.read_log_tail() == "up", timeout_s=PATIENCE_S)

    assert child.stop(grace_s=0.2) == -signal.SIGKILL


def test_stop_reaches_the_children_of_a_child(supervisor: Supervisor) -> None:
    program = (
        "import subprocess, sys; child = subprocess.Popen(sys.argv[1:]);"
        " print(child.pid, flush=True); child.wait()"
    )
    child = supervisor.start("outer", [sys.executable, "-c", program, "sleep", "600"])
    child.wait_ready(lambda: child.read_log_tail().isdigit(), timeout_s=PATIENCE_S)
    inner = int(child.read_log_tail())

    child.kill()

    wait_until(lambda: not is_alive(inner))


def test_name_can_be_used_again_and_its_log_is_continued(supervisor: Supervisor) -> None:
    for text in ("first", "second"):
        supervisor.start("again", ["echo", text]).wait(timeout_s=PATIENCE_S)

    assert supervisor.start("again", ["true"]).read_log_tail() == "first\nsecond"


def test_child_outlives_the_thread_that_started_it(supervisor: Supervisor) -> None:
    thread = threading.Thread(target=supervisor.start, args=("threaded", SLEEP))
    thread.start()
    thread.join()
    (child,) = supervisor.children

    child.wait_ready(lambda: child.read_log_tail() == "up", timeout_s=PATIENCE_S)
    # If the child were bound to that thread (PR_SET_PDEATHSIG), the kernel would kill it soon after the
    # thread's end. There is no event to wait for: a slow machine may miss the defect, but never fails.
    time.sleep(0.1)

    assert child.is_running


def test_leaving_the_context_ends_all(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        children = [supervisor.start(f"child{number}", SLEEP) for number in range(3)]

    assert [child.return_code for child in children] == [-signal.SIGTERM] * 3


@pytest.mark.parametrize(
    ("how", "signal_number", "return_code"),
    [
        ("atexit", None, 0),
        ("error", None, 3),
        ("ctrl-c", signal.SIGINT, -signal.SIGINT),
        ("terminated", signal.SIGTERM, 128 + signal.SIGTERM),
        pytest.param(
            "killed",
            signal.SIGKILL,
            -signal.SIGKILL,
            marks=pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only"),
        ),
    ],
)
def test_child_ends_however_its_parent_ends(
    how: str, signal_number: signal.Signals | None, return_code: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        process_id = int(parent.stdout.readline())
        if signal_number is not None:
            parent.send_signal(signal_number)
        assert parent.wait(PATIENCE_S) == return_code

    wait_until(lambda: not is_alive(process_id))
