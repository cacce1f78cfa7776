"""One declaration of a cluster in the terms of both clients, with secrets only where used."""

from pathlib import Path

import pytest

from braid.lake import InvalidRequest
from braid.pipelines.kafka.cluster import KafkaCluster
from tests.support.doc_examples import ROOT

SASL = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.PlainLoginModule required username="me" password="s3cret";',
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(ROOT / "tests" / "support" / "kafka_tls" / "authority.pem"),
    "client.id": "braid",
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

    found = cluster.client_options

    tls = found.pop("ssl_context")
    assert [one["subject"] for one in tls.get_ca_certs()] == [
        ((("commonName", "braid test authority"),),)
    ]
    assert found == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "braid",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "s3cret",
    }


def test_a_user_name_is_sent_as_scram_writes_it() -> None:
    options = SASL | {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": 'x.ScramLoginModule required username="a=b,c" password="p";',
    }

    found = KafkaCluster(bootstrap_servers="a:1", options=options).client_options

    assert found["sasl_plain_username"] == "a=3Db=2Cc"


def test_a_login_without_security_protocol_is_refused_instead_of_not_being_sent() -> None:
    options = {name: value for name, value in SASL.items() if name != "security.protocol"}

    with pytest.raises(InvalidRequest, match="has no effect") as caught:
        _ = KafkaCluster(bootstrap_servers="a:1", options=options).client_options

    assert "s3cret" not in str(caught.value)


def test_a_file_of_certificates_that_is_missing_is_named_before_any_connection() -> None:
    options = SASL | {"ssl.truststore.location": "/nowhere/ca.pem"}
    cluster = KafkaCluster(bootstrap_servers="a:1", options=options)

    with pytest.raises(InvalidRequest, match="a readable file: No such file") as caught:
        cluster.check_security(prefix="clusters.shop.options.")

    assert caught.value.problems[0].field == "clusters.shop.options.ssl.truststore.location"


MSK = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
}


def test_a_login_by_cloud_identity_needs_the_package_that_signs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster = KafkaCluster(bootstrap_servers="a:1", options=MSK)

    with pytest.raises(InvalidRequest, match="botocore"):
        cluster.check_security(prefix="")
    (tmp_path / "botocore.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    cluster.check_security(prefix="")

    assert cluster.client_options["sasl_mechanism"] == "AWS_MSK_IAM"


def test_secrets_are_not_shown() -> None:
    assert "s3cret" not in repr(KafkaCluster(bootstrap_servers="a:1", options=SASL))
