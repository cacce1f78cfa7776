"""Dead-letter sender of an executor's task.

Each letter is sent at least once. If a letter is too large for the topic, its value is cut. If Kafka does not
accept a letter, the task fails.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError
from kafka.serializer import SerializeWrapper

from braid.formats.dead_letter import DeadLetter
from braid.lake import StorageUnavailable
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable

_PENDING_MAX = 1_000
_CUT_BYTES = 16 * 1024
# The client's own bound, far above any broker's: the topic decides which size is too large.
_REQUEST_BYTES_MAX = 512 * 1024 * 1024
_SEND_SECONDS_MAX = 60


_NULL = object()


class DeadLetterSender:
    """Sends dead letters to one topic; connects with the first of them.

    At least once: when the context ends without an error, every letter is on the topic.
    """

    def __init__(self, cluster: KafkaCluster, *, topic: str, connector: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._connector = connector
        self._producer: Any = None
        self._pending: list[tuple[DeadLetter, Any]] = []

    def send(self, letters: Sequence[DeadLetter]) -> None:
        """Send letters; waits whenever a thousand are not acknowledged yet.

        Raises:
            StorageUnavailable: The cluster did not accept them.
        """
        for letter in letters:
            self._send_one(letter)
            if len(self._pending) >= _PENDING_MAX:
                self.flush()

    def flush(self) -> None:
        """Return when the cluster has acknowledged every letter sent so far.

        A letter that is too large for the topic is sent again with its value cut.

        Raises:
            StorageUnavailable: The cluster did not accept them.
        """
        for is_last_try in (False, True):
            pending, self._pending = self._pending, []
            for letter, future in pending:
                try:
                    future.get(timeout=_SEND_SECONDS_MAX)
                except MessageSizeTooLargeError as error:
                    if is_last_try:
                        raise self._refused(error) from error
                    self._send_cut(letter)
                except KafkaError as error:
                    raise self._refused(error) from error
        assert not self._pending, "after the second try every letter is acknowledged"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            # Letters under way are given up; an error in doing so must not hide the first error.
            with suppress(KafkaError):
                self._close(timeout_s=0)
            return
        try:
            self.flush()
        finally:
            self._close(timeout_s=_SEND_SECONDS_MAX)

    def _close(self, *, timeout_s: int) -> None:
        if self._producer is not None:
            self._producer.close(timeout=timeout_s)

    def _send_cut(self, letter: DeadLetter) -> None:
        whole = letter.value or b""
        self._send_one(replace(letter, value=whole[:_CUT_BYTES], value_bytes=len(whole)))

    def _send_one(self, letter: DeadLetter) -> None:
        headers = letter.all_headers(connector=self._connector)
        try:
            if self._producer is None:
                check_reachable(self._cluster)
                self._producer = KafkaProducer(
                    acks="all",
                    # Once a message was too large, an idempotent producer of kafka-python 3.0
                    # fails every later one with the same error. At least once needs none.
                    enable_idempotence=False,
                    max_request_size=_REQUEST_BYTES_MAX,
                    value_serializer=SerializeWrapper(_sent_value),
                    **self._cluster.client_options,
                )
            # The client refuses a record without key and value, before it asks the serializer.
            value = _NULL if letter.value is None else letter.value
            future = self._producer.send(self._topic, value=value, key=letter.key, headers=headers)
        except MessageSizeTooLargeError:
            self._send_cut(letter)
            return
        except KafkaError as error:
            raise self._refused(error) from error
        self._pending.append((letter, future))

    def _refused(self, error: KafkaError) -> StorageUnavailable:
        what = f"dead letters cannot be sent to topic {self._topic}"
        return unavailable(self._cluster, what, error)


def _sent_value(value: Any) -> bytes | None:
    return None if value is _NULL else bytes(value)
