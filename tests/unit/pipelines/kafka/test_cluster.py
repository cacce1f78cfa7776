"""One declaration of a cluster in the terms of both clients, with secrets only where used."""

from braid.pipelines.kafka.cluster import KafkaCluster

SASL = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.PlainLoginModule required username="me" password="s3cret";',
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/ca.pem",
    "fetch.max.bytes": "1000",
}


def test_spark_gets_every_option_by_its_own_name() -> None:
    cluster = KafkaCluster(bootstrap_servers="a:1,b:2", options={"client.id": "x"})

    assert cluster.spark_options == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.client.id": "x",
    }


def test_kafka_python_gets_transport_and_login_translated() -> None:
    cluster = KafkaCluster(bootstrap_servers="a:1,b:2", options=SASL)

    assert cluster.client_options == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "s3cret",
        "ssl_cafile": "/ca.pem",
    }


def test_secrets_are_not_shown() -> None:
    assert "s3cret" not in repr(KafkaCluster(bootstrap_servers="a:1", options=SASL))
