"""The broker keeps its address and its data over a crash."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError

from braid.demo.broker import KafkaBroker
from braid.demo.processes import ProcessFailed

pytestmark = pytest.mark.integration


def produce(broker: KafkaBroker, topic: str, values: Iterable[bytes]) -> None:
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap_servers)) as producer:
        for value in values:
            producer.send(topic, value)
        producer.flush()


def consume(broker: KafkaBroker, topic: str) -> list[bytes]:
    """Return every value of a topic of one partition."""
    with closing(KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)) as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        values: list[bytes] = []
        while consumer.position(partition) < end:
            for records in consumer.poll(timeout_ms=1000).values():
                values += [record.value for record in records]
        return values


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


def test_values_come_back_in_order(broker: KafkaBroker) -> None:
    broker.create_topics({"ordered": 1})
    values = [b"%d" % number for number in range(1000)]

    produce(broker, "ordered", values)

    assert consume(broker, "ordered") == values


def test_topic_has_the_requested_partitions_and_settings(broker: KafkaBroker) -> None:
    broker.create_topics({"wide": 3}, configs={"retention.ms": "-1"})

    with closing(broker.admin()) as admin:
        (topic,) = admin.describe_topics(["wide"])
        configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "wide")])

    assert len(topic["partitions"]) == 3
    assert configs["topic"]["wide"]["retention.ms"]["value"] == "-1"


def test_a_topic_that_exists_is_refused(broker: KafkaBroker) -> None:
    broker.create_topics({"twice": 1})

    with pytest.raises(TopicAlreadyExistsError):
        broker.create_topics({"twice": 1})


def test_data_and_address_survive_a_crash(broker: KafkaBroker) -> None:
    broker.create_topics({"kept": 1})
    produce(broker, "kept", [b"before"])
    address, process_id = broker.bootstrap_servers, broker.process_id

    broker.kill()
    killed = broker.process_id
    broker.restart()
    produce(broker, "kept", [b"after"])

    assert killed is None
    assert broker.bootstrap_servers == address
    assert broker.process_id not in {None, process_id}
    assert consume(broker, "kept") == [b"before", b"after"]


def test_data_survives_a_clean_stop(broker: KafkaBroker) -> None:
    broker.create_topics({"stopped": 1})
    produce(broker, "stopped", [b"value"])

    broker.stop()
    broker.start()

    assert consume(broker, "stopped") == [b"value"]


def test_a_broker_that_cannot_start_shows_its_reason(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, settings={"num.io.threads": "none"})

    with pytest.raises(ProcessFailed, match=r"num\.io\.threads"), broker:
        pass
