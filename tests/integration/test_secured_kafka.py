"""Streams of secured brokers: each mechanism with both clients, whole ingests, refused logins, and no secret shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.formats.clusters.clusters_file import parse_clusters
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import read_ranges
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.topic import TopicReader
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.sink.dead_letter_sender import DeadLetterSender
from braid.schemas import StreamSpec, StreamState, TableSpec
from tests.integration.ingest_bed import IngestBed
from tests.integration.runner_bed import Registry, has_read, running_settings
from tests.integration.secured_broker import (
    CLIENT_SECRET,
    KEY_PASSWORD,
    PASSWORD,
    SASL_SSL,
    SSL,
    TLS,
    USER,
    secured_broker,
    token_endpoint,
)

pytestmark = [pytest.mark.integration, pytest.mark.spark]

WRONG = "wr0ng-secret"
SECRETS = (PASSWORD, KEY_PASSWORD, CLIENT_SECRET, WRONG, 'pa\\"ss')
SECURITY = "org.apache.kafka.common.security"
MECHANISMS = ("plain", "scram-256", "scram-512", "oauth", "mutual")
WIDE = TableSpec.model_validate(
    {
        "columns": [{"name": "id", "type": "BIGINT"}]
        + [{"name": name, "type": "STRING"} for name in ("scram", "mutual", "open", "refused")],
        "primary_key": ["id"],
        "buckets": 1,
        "sequence_groups": [
            {"name": name, "ordering": None, "columns": [name]}
            for name in ("scram", "mutual", "open", "refused")
        ],
    }
)


@dataclass(frozen=True, kw_only=True)
class Secured:
    """A secured broker, and the operators' file that names it in several ways."""

    broker: KafkaBroker
    clusters: KafkaClusters

    def cluster(self, name: str) -> KafkaCluster:
        """The cluster of a stream, as a runner resolves it."""
        spec = {
            "name": "any",
            "topic": "any",
            "dead_letter_topic": "any.dead-letters",
            "columns": [{"column": "id"}],
            "kafka": {"cluster": name},
        }
        return resolve_cluster(StreamSpec.model_validate(spec), self.clusters)


def operators_file(directory: Path, *, sasl: str, tls: str, other: str, token_url: str) -> str:
    """Return the text of a file with one cluster for each way to log in; secrets are files beside it."""
    secrets = {"password": PASSWORD, "wrong": WRONG, "key": KEY_PASSWORD, "client": CLIENT_SECRET}
    for name, secret in secrets.items():
        (directory / name).write_text(secret + "\n")
    logins = {
        "plain": (
            "PLAIN",
            f'{SECURITY}.plain.PlainLoginModule required username="plain"',
            "password",
        ),
        "scram-256": (
            "SCRAM-SHA-256",
            f'{SECURITY}.scram.ScramLoginModule required username="{USER}"',
            "password",
        ),
        "scram-512": (
            "SCRAM-SHA-512",
            f'{SECURITY}.scram.ScramLoginModule required username="{USER}"',
            "password",
        ),
        "refused": (
            "SCRAM-SHA-256",
            f'{SECURITY}.scram.ScramLoginModule required username="{USER}"',
            "wrong",
        ),
        "refused-plain": (
            "PLAIN",
            f'{SECURITY}.plain.PlainLoginModule required username="plain"',
            "wrong",
        ),
    }
    text = f'[clusters.open]\nbootstrap_servers = "{other}"\n'
    for name, (mechanism, jaas, secret) in logins.items():
        text += f"""
[clusters.{name}]
bootstrap_servers = "{sasl}"
[clusters.{name}.options]
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "{mechanism}"
"sasl.jaas.config" = '{jaas} password="${{file:{directory / secret}}}";'
"ssl.truststore.type" = "PEM"
"ssl.truststore.location" = "{TLS / "authority.pem"}"
"""
    for name, secret in (("oauth", "client"), ("refused-oauth", "wrong")):
        text += f"""
[clusters.{name}]
bootstrap_servers = "{sasl}"
[clusters.{name}.options]
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "OAUTHBEARER"
"sasl.login.callback.handler.class" = "{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
"sasl.oauthbearer.token.endpoint.url" = "{token_url}"
"sasl.jaas.config" = '{SECURITY}.oauthbearer.OAuthBearerLoginModule required clientId="braid" clientSecret="${{file:{directory / secret}}}" scope="kafka";'
"ssl.truststore.type" = "PEM"
"ssl.truststore.certificates" = "${{file:{TLS / "authority.pem"}}}"
"""
    return (
        text
        + f"""
[clusters.mutual]
bootstrap_servers = "{tls}"
[clusters.mutual.options]
"security.protocol" = "SSL"
"ssl.truststore.type" = "PEM"
"ssl.truststore.location" = "{TLS / "authority.pem"}"
"ssl.keystore.type" = "PEM"
"ssl.keystore.location" = "{TLS / "client.pem"}"
"ssl.key.password" = "${{file:{directory / "key"}}}"

[clusters.anonymous]
bootstrap_servers = "{tls}"
[clusters.anonymous.options]
"security.protocol" = "SSL"
"ssl.truststore.type" = "PEM"
"ssl.truststore.location" = "{TLS / "authority.pem"}"

[clusters.stranger]
bootstrap_servers = "{tls}"
[clusters.stranger.options]
"security.protocol" = "SSL"
"""
    )


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaBroker) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("secured")
    with secured_broker(directory / "broker") as broker, token_endpoint() as token_url:
        text = operators_file(
            directory,
            sasl=broker.address(SASL_SSL),
            tls=broker.address(SSL),
            other=kafka.bootstrap_servers,
            token_url=token_url,
        )
        broker.create_topics({"any": 2, "any.dead-letters": 1})
        yield Secured(broker=broker, clusters=parse_clusters(text, source="clusters.toml"))


@pytest.mark.parametrize("name", MECHANISMS)
def test_both_clients_log_in_by_each_mechanism(
    secured: Secured, session: SparkSession, name: str
) -> None:
    cluster = secured.cluster(name)
    letter = DeadLetter(
        topic="any",
        partition=0,
        offset=0,
        reason=DeadLetterReason.MALFORMED,
        message="not JSON",
        key=None,
        value=name.encode(),
        headers=(),
    )

    with TopicReader(cluster) as topics:
        found = topics.require("any.dead-letters")
        start = topics.end(found)
        with DeadLetterSender(cluster, topic="any.dead-letters", connector="c") as sender:
            sender.send([letter])
        end = topics.end(found)
    read = read_ranges(session, cluster=cluster, topic="any.dead-letters", start=start, end=end)
    values = [bytes(row["value"]) for row in read.select("value").collect()]

    assert found.topic_id
    assert values == [name.encode()]
    stream = session.readStream.format("kafka").options(**cluster.spark_options, subscribe="any")
    plans = f"{read._jdf.queryExecution()} {stream.load()._jdf.queryExecution()}"
    assert "Relation" in plans
    assert not [secret for secret in SECRETS if secret in plans]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("refused", r"\(SASL_SSL with SCRAM-SHA-256\) is refused: .*invalid credentials"),
        ("refused-plain", r"\(SASL_SSL with PLAIN\) is refused: .*Invalid username or password"),
        ("refused-oauth", r"OAUTHBEARER: http://.* answers 401 \(invalid_client\)"),
        ("stranger", r"no TLS connection \(SSL\): .*(certificate|issuer)"),
        ("anonymous", r"no TLS connection \(SSL\): .*_CERTIFICATE"),
    ],
)
def test_a_refused_login_names_the_mechanism_and_no_secret(
    secured: Secured, name: str, expected: str
) -> None:
    with (
        TopicReader(secured.cluster(name)) as topics,
        pytest.raises(StorageUnavailable, match=expected) as caught,
    ):
        topics.describe("any")

    assert not [secret for secret in SECRETS if secret in f"{caught.value} {caught.value!r}"]


def test_the_error_of_a_login_in_spark_has_no_secret(
    secured: Secured, session: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    """A password can be changed while a stream runs: then Spark's client is the first that is refused."""
    cluster = secured.cluster("refused")
    read = read_ranges(session, cluster=cluster, topic="any", start={0: 0, 1: 0}, end={0: 1, 1: 1})

    with pytest.raises(Exception, match="SCRAM-SHA-256") as caught:
        read.collect()

    shown = f"{caught.value}{''.join(capfd.readouterr())}"
    assert not [secret for secret in SECRETS if secret in shown]


def test_one_runner_reads_several_clusters_each_with_its_own_login(
    secured: Secured,
    kafka: KafkaBroker,
    session: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    bed = IngestBed(broker=secured.broker, session=session, directory=tmp_path, spec=WIDE)
    other_path = tmp_path / "other"
    other_path.mkdir()
    other = IngestBed(broker=kafka, session=session, directory=other_path, spec=WIDE)
    beds = {"scram": bed, "mutual": bed, "open": other, "refused": bed}
    clusters = {"scram": "scram-512", "mutual": "mutual", "open": "open", "refused": "refused"}
    registry = Registry(bed)
    settings = RunnerSettings(
        warehouse=bed.warehouse,
        name="inside",
        clusters=secured.clusters,
        poll_ms=50,
        progress_ms=100,
    )
    topics = {name: place.topic(name, partitions=1) for name, place in beds.items()}
    for name, place in beds.items():
        place.produce(topics[name], [{"id": 1, name: f"of {name}"}, b"no", {"id": 2, name: "x"}])

    with running_settings(settings, session, tmp_path):
        for name, topic in topics.items():
            registry.register(name, topic=topic, kafka={"cluster": clusters[name]})
        for name in ("scram", "mutual", "open"):
            registry.wait_for(name, has_read(3))
        refused = registry.wait_for("refused", lambda p: p.state is StreamState.RETRYING)
        reports = "".join(report.model_dump_json() for report in registry.runners())

    rows = bed.rows("scram", "mutual", "open", "refused")
    assert rows[0] == {
        "id": 1,
        "scram": "of scram",
        "mutual": "of mutual",
        "open": "of open",
        "refused": None,
    }
    for name in ("scram", "mutual", "open"):
        (letter,) = beds[name].records(f"{topics[name]}.dead-letters")
        assert letter.value == b"no"
    assert "(SASL_SSL with SCRAM-SHA-256) is refused" in str(refused.trace)
    shown = f"{reports}{caplog.text}{''.join(capfd.readouterr())}"
    assert not [secret for secret in SECRETS if secret in shown]
