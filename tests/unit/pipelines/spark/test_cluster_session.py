"""The session of a command ends in bounded time, whatever its JVM waits for."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from py4j.protocol import Py4JNetworkError

from braid.pipelines.spark.cluster_session import end_session


def session_of(process: subprocess.Popen[bytes] | None, *, stop: Any) -> Any:
    """Spark's session as far as its end goes: a JVM, and a call that it answers when it wants."""
    gateway = SimpleNamespace(proc=process, shutdown=lambda: None)
    return SimpleNamespace(sparkContext=SimpleNamespace(_gateway=gateway), stop=stop)


def test_a_jvm_that_never_answers_is_killed() -> None:
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE) as process:

        def stop() -> None:
            process.wait()
            message = "the other side has closed the connection"
            raise Py4JNetworkError(message)

        end_session(session_of(process, stop=stop), seconds_max=0.1)

        assert process.returncode == -9


def test_a_jvm_that_ends_with_its_input_is_left_alone() -> None:
    program = [sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(3)"]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as process:
        end_session(session_of(process, stop=lambda: None))

        assert process.returncode == 3


def test_the_jvm_of_spark_submit_is_not_ended() -> None:
    stopped: list[bool] = []

    end_session(session_of(None, stop=lambda: stopped.append(True)))

    assert stopped == [True]
