"""Connection of kafka-python's admin client to one cluster: opened by the first call, closed after a failure."""

from types import TracebackType
from typing import Any, Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, TopicAlreadyExistsError

from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable

_REQUEST_MS = 15_000
# Less than a third of a runner's lease: a supervisor that waits for a cluster still renews its lease in time.
_CONNECT_MS = 4_000


class AdminConnection:
    """A connection to one cluster. Use it from one thread at a time."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self._admin: Any = None

    def call(self, method: str, *args: Any, **named: Any) -> Any:
        """Return the result of a method of the admin client.

        Raises:
            StorageUnavailable: The cluster does not answer, or refuses.
            TopicAlreadyExistsError: As the client raises it.
        """
        try:
            if self._admin is None:
                check_reachable(self.cluster)
                self._admin = KafkaAdminClient(
                    request_timeout_ms=_REQUEST_MS,
                    bootstrap_timeout_ms=_CONNECT_MS,
                    **self.cluster.client_options,
                )
            return getattr(self._admin, method)(*args, **named)
        except TopicAlreadyExistsError:
            raise
        except (KafkaError, OSError) as error:
            self.close()
            raise unavailable(self.cluster, f"{method} failed", error) from error

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
