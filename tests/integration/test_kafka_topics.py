"""Topics as a real broker tells them: rights that are missing, and records that are deleted while they are read."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)

from braid.demo.broker import KafkaBroker
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import StorageUnavailable
from braid.pipelines.kafka.bounded_read import RecordsExpired, read_to_end
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.topic import TopicReader
from braid.pipelines.kafka.topic_record_reader import KafkaTopicRecords
from braid.pipelines.replay.letter_topic import LetterTopic
from braid.records.topic_records import TopicRecord, WantedRecords
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec

pytestmark = pytest.mark.integration

RECORDS = 20


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker with rules of access; everything without a rule is allowed."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), settings=settings) as running:
        yield running


@pytest.fixture
def cluster(broker: KafkaBroker) -> KafkaCluster:
    return KafkaCluster(bootstrap_servers=broker.bootstrap_servers)


def test_a_topic_that_the_login_may_not_see_is_not_called_missing(
    broker: KafkaBroker, cluster: KafkaCluster
) -> None:
    broker.create_topics({"hidden": 1})
    rule = ACL(
        "User:ANONYMOUS",
        "*",
        ACLOperation.ALL,
        ACLPermissionType.DENY,
        ResourcePattern(ResourceType.TOPIC, "hidden"),
    )
    with closing(broker.admin()) as admin:
        assert not admin.create_acls([rule])["failed"]

    with TopicReader(cluster) as topics:
        assert topics.describe("nowhere") is None
        with pytest.raises(
            StorageUnavailable, match=r"(?s)hidden cannot be described.*lacks the right for this"
        ):
            topics.require("hidden")
    assert LetterTopic(cluster, "nowhere").bounds() == ({}, {})
    with pytest.raises(StorageUnavailable, match="hidden cannot be described"):
        LetterTopic(cluster, "hidden").bounds()


def test_records_that_are_deleted_while_they_are_read_are_named(
    broker: KafkaBroker, cluster: KafkaCluster
) -> None:
    broker.create_topics({"expiring": 1})
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap_servers)) as producer:
        for number in range(RECORDS):
            producer.send("expiring", b"%d" % number)
        producer.flush()
    start, end = {0: 2}, {0: RECORDS}
    assert _read(cluster, start, end) == list(range(2, RECORDS))
    with closing(broker.admin()) as admin:
        admin.delete_records({TopicPartition("expiring", 0): 15})

    with pytest.raises(RecordsExpired) as caught:
        _read(cluster, start, end)

    assert str(caught.value).startswith(
        "topic expiring, partition 0: the records of offsets 2 to 14 are gone; the topic has offsets "
        "from 15 up to 20"
    )
    assert _read(cluster, {0: 15}, end) == list(range(15, RECORDS))


def _read(cluster: KafkaCluster, start: dict[int, int], end: dict[int, int]) -> list[int]:
    polls = read_to_end(cluster, topic="expiring", start=start, end=end)
    return [record.offset for polled in polls for record in polled]


def test_single_records_are_read_again_as_long_as_the_topic_has_them(broker: KafkaBroker) -> None:
    broker.create_topics({"shown": 2})
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap_servers)) as producer:
        for number in range(5):
            sent = {"key": b"k", "headers": [("n", b"%d" % number)], "timestamp_ms": 1_000 + number}
            producer.send("shown", b"%d" % number, partition=1, **sent)
        producer.flush()
    with closing(broker.admin()) as admin:
        admin.delete_records({TopicPartition("shown", 1): 2})
        topic_id = str(admin.describe_topics(["shown"])[0]["topic_id"])
    stream = complete_stream(
        TableSpec.model_validate(
            {"columns": [{"name": "id", "type": "INT"}], "primary_key": ["id"]}
        ),
        StreamDefinition.model_validate({"topic": "shown"}),
        name="shown",
    )
    positions = [(0, 0), (1, 1), (1, 2), (1, 4), (1, 5), (7, 0)]
    wanted = WantedRecords(stream=stream, topic_id=topic_id, positions=positions)
    with closing(reader_of(broker.bootstrap_servers)) as reader:
        found, recreated = reader.read([wanted, replace(wanted, topic_id="another")])
    with closing(reader_of("127.0.0.1:1")) as reader:
        [down] = reader.read([wanted])

    assert found == {
        (1, number): TopicRecord(
            key=b"k",
            value=b"%d" % number,
            headers=(("n", b"%d" % number),),
            timestamp_ms=1_000 + number,
        )
        for number in (2, 4)
    }
    assert recreated == {}
    assert isinstance(down, StorageUnavailable)


def reader_of(bootstrap_servers: str) -> KafkaTopicRecords:
    return KafkaTopicRecords(KafkaClusters().with_default(bootstrap_servers))
