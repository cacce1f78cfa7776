"""Errors of Spark that too little memory causes are told in words."""

import pytest

from braid.pipelines.stream.memory_failure import memory_failure

_TRACE = """\
Job aborted due to stage failure: Lost task 0.0 in stage 0.0 (TID 0) (host executor driver): java.io.EOFException
	at java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
	at org.apache.spark.api.python.{place}(PythonWorkerFactory.scala:188)
"""


def test_a_worker_that_is_killed_before_it_begins_has_no_memory() -> None:
    found = memory_failure(_TRACE.format(place="PythonWorkerFactory.createWorker$1"))

    assert found is not None
    assert found.startswith("a Python worker of Spark ended within a micro-batch")


@pytest.mark.parametrize("text", [_TRACE.format(place="Other.read"), "java.io.EOFException", ""])
def test_other_errors_are_no_lack_of_memory(text: str) -> None:
    assert memory_failure(text) is None
