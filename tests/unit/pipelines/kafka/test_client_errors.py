"""Errors of Kafka's Python client: retried, with the mechanism of the login and without its secret."""

import pytest
from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
)

from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster

CLUSTER = KafkaCluster(
    bootstrap_servers="a:1",
    options={
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'x.PlainLoginModule required username="me" password="s3cret";',
    },
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SaslAuthenticationFailedError("no"), "(SASL_PLAINTEXT with PLAIN) is refused"),
        (TopicAuthorizationFailedError("t"), "(SASL_PLAINTEXT with PLAIN) lacks the right"),
        (KafkaTimeoutError("late"), "kafka a:1: list failed: KafkaTimeoutError"),
    ],
)
def test_an_error_says_what_failed_and_by_which_login(error: KafkaError, expected: str) -> None:
    found = unavailable(CLUSTER, "list failed", error)

    assert str(found).startswith("kafka a:1: list failed")
    assert expected in str(found)
    assert found.retryable
    assert "s3cret" not in str(found)
