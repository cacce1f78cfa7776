"""Permanent failures are separated from those that are retried, by real errors."""

import errno

import pytest
from pyspark.errors import PySparkException, PythonException, StreamingQueryException

from braid.lake import (
    CommitConflict,
    CommitUnknown,
    CorruptData,
    InvalidRequest,
    LakeError,
    LimitExceeded,
    OffsetMismatch,
    Problem,
    StorageUnavailable,
    StreamFenced,
    UnsupportedFeature,
)
from braid.pipelines.kafka.topic import TopicMissing
from braid.pipelines.stream.failure import classify_failure
from braid.registry.errors import DefinitionRefused, RegistryConflict
from braid.schemas import FieldProblem

KAFKA_AWAY = """\
org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listNodes
=== Streaming Query ===
Identifier: [id = 1a11a8f2, runId = db82d504]
Current Committed Offsets: {KafkaV2[Subscribe[x]]: {"x":{"0":10}}}

Current State: ACTIVE
"""
OF_A_TASK = """\
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/app/pipelines/sink/write_task.py", line 99, in __call__
    raise StorageUnavailable(message) from error
kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Unable to bootstrap

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/pipelines/sink/write_task.py", line 101, in __call__
braid.lake.errors.{kind}: something is wrong
hint: mend it

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:645)
\tat org.apache.spark.scheduler.Task.run(Task.scala:147)
"""


OUT_OF_MEMORY = """\
Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage 3.0
(TID 5) (127.0.0.1 executor driver): java.lang.OutOfMemoryError: Java heap space
\tat java.base/java.util.Arrays.copyOf(Arrays.java:3537)
"""
WORKER_KILLED = """\
org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:624)
Caused by: java.net.SocketException: Connection reset
\tat java.base/sun.nio.ch.SocketChannelImpl.throwConnectionReset(SocketChannelImpl.java:401)
"""
NO_ROOM = """\
[STREAM_FAILED] Query [id = x, runId = y] terminated with exception: No space left on device SQLSTATE: XXKST
=== Streaming Query ===
Caused by: java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
"""
NO_MEMORY_IN_TASK = """\
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/app/pipelines/sink/write_task.py", line 101, in __call__
{error}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:645)
"""


@pytest.mark.parametrize(
    "error",
    [
        StorageUnavailable("kafka is away"),
        TopicMissing("no such topic"),
        CommitConflict("another schema"),
        CommitUnknown("no answer"),
        OffsetMismatch("a gap", stream="s"),
        StreamFenced("newer", stream="s", epoch=1, table_epoch=2),
        OSError("no route to host"),
        OSError(errno.ENOSPC, "No space left on device"),
        MemoryError("no memory left"),
        StreamingQueryException(OUT_OF_MEMORY),
        PySparkException(WORKER_KILLED),
        TimeoutError("timed out"),
        ZeroDivisionError("division by zero"),
        StreamingQueryException(KAFKA_AWAY),
        PythonException(OF_A_TASK.format(kind="StorageUnavailable")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_failures_are_retried(error: Exception) -> None:
    assert not classify_failure(error).is_permanent


def test_a_definition_that_the_registry_refuses_is_not_retried() -> None:
    """A table that was made without arrival columns may have a column of such a name: only a person can rename it."""
    problem = FieldProblem(
        pointer="/columns/0",
        field="columns[0].name",
        value="_order",
        message="`s` needs a column of this name",
        hint="rename the column",
    )
    failure = classify_failure(DefinitionRefused("the table cannot be changed", problems=[problem]))

    assert failure.is_permanent
    assert failure.is_expected
    assert failure.cause == (
        "the table cannot be changed; columns[0].name: `s` needs a column of this name"
    )
    assert [(one.field, one.value, one.hint) for one in failure.problems] == [
        ("columns[0].name", "_order", "rename the column")
    ]
    assert failure.text.endswith("\nhint: rename the column")


def test_a_full_disk_of_checkpoints_is_told_from_one_of_the_warehouse() -> None:
    failure = classify_failure(StreamingQueryException(NO_ROOM))

    assert not failure.is_permanent
    assert failure.cause.startswith("the disk of the runner's temporary files is full;")
    assert "hint: free some space in the folder for temporary files (TMPDIR" in failure.cause


def test_a_registry_that_is_busy_is_asked_again() -> None:
    assert not classify_failure(RegistryConflict("another was faster")).is_permanent


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequest("no such column"),
        UnsupportedFeature("no such thing"),
        LimitExceeded("too many dead letters"),
        CorruptData("not Avro"),
        PythonException(OF_A_TASK.format(kind="SchemaMismatch")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_permanent_failure_is_not_retried_and_names_its_field(error: Exception) -> None:
    failure = classify_failure(error)

    assert failure.is_permanent
    assert failure.problems or type(error) in (InvalidRequest, UnsupportedFeature)


def test_a_topic_that_does_not_fit_its_table_stays_so() -> None:
    error = OffsetMismatch("made again\nhint: register it as a new stream", stream="s")

    failure = classify_failure(error, is_topic_check=True)

    assert failure.is_permanent
    assert failure.problems == (
        Problem(
            field="topic", value=None, message="made again", hint="register it as a new stream"
        ),
    )


def test_an_error_of_spark_is_one_line_without_its_traces() -> None:
    kafka = classify_failure(StreamingQueryException(KAFKA_AWAY))
    task = classify_failure(PythonException(OF_A_TASK.format(kind="StorageUnavailable")))

    assert kafka.cause == (
        "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. "
        "Call: listNodes"
    )
    assert task.cause == "something is wrong; hint: mend it"
    assert (kafka.is_expected, task.is_expected) == (True, True)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PySparkException(WORKER_KILLED), "a Python worker of Spark ended"),
        (StreamingQueryException(OUT_OF_MEMORY), "the heap of Spark's JVM is full"),
        (PythonException(NO_MEMORY_IN_TASK.format(error="MemoryError")), "got no memory"),
        (
            PythonException(
                NO_MEMORY_IN_TASK.format(
                    error="pyarrow.lib.ArrowMemoryError: malloc of size 8 failed"
                )
            ),
            "got no memory",
        ),
        (MemoryError(), "got no memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "got no memory"),
    ],
    ids=["killed", "heap", "task", "arrow", "driver", "system"],
)
def test_want_of_memory_is_told_in_words_with_what_helps(error: Exception, words: str) -> None:
    failure = classify_failure(error)

    assert words in failure.cause
    assert "max_bytes_per_batch" in failure.cause
    assert (failure.is_permanent, failure.is_expected) == (False, True)


def test_a_permanent_error_behind_want_of_memory_stays_permanent() -> None:
    text = OF_A_TASK.format(kind="CorruptData").replace(
        "kafka.errors.KafkaTimeoutError", "MemoryError"
    )

    assert classify_failure(PythonException(text)).is_permanent


def test_problems_are_reported_as_they_were_raised() -> None:
    problem = Problem(field="columns.a", value="a", message="no such column", hint="name another")
    error: LakeError = InvalidRequest("the stream does not fit", problems=[problem])

    assert classify_failure(error).problems == (problem,)
    assert "\n" not in classify_failure(error).cause


def test_an_unexpected_error_is_reported_with_its_class() -> None:
    failure = classify_failure(KeyError("a"))

    assert (failure.cause, failure.is_expected) == ("KeyError: 'a'", False)
