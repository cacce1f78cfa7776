"""Opening of a range of offsets of a topic as the source of a backfill.

The topic is on the stream's Kafka cluster, whose address and login are in the operators' clusters file (`--clusters`).
"""

from braid.backfill.backfill import Target
from braid.backfill.topic.offset_range import TopicRange, check_range
from braid.backfill.topic.topic_source import TopicSource
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Clock, backfill_name
from braid.pipelines.kafka.added_partitions import plan_assignment
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.stream_schemas import resolve_schemas
from braid.pipelines.kafka.topic import TopicReader
from braid.records.stream_plan import plan_stream


def open_topic(
    wanted: TopicRange, target: Target, *, name: str, clusters: KafkaClusters, clock: Clock
) -> TopicSource:
    """Return a range as the source of a backfill.

    Args:
        wanted: The range, in a topic on the stream's cluster.
        target: The stream and its table.
        name: Name of the backfill.
        clusters: The operators' clusters file.
        clock: The clock.

    Raises:
        InvalidRequest: The clusters file does not allow the topic, the topic has no such range, or arrival alone cannot
            order its records.
        StorageUnavailable: Kafka does not answer.
    """
    document, table = target.document, target.table
    stream = target.entry.spec.model_copy(update={"topic": wanted.topic})
    known = table.committer().stream_positions().get(backfill_name(stream.name, name))
    plan = plan_stream(
        table=document.identifier, spec=document.table, stream=stream, schema=table.schema
    )
    cluster = resolve_cluster(stream, clusters)
    topics = TopicReader(cluster)
    try:
        topic = topics.require(wanted.topic)
        earliest, latest = topics.earliest(topic), topics.end(topic)
    finally:
        topics.close()
    plan_assignment(
        plan, topic, position=None, order=None, end=lambda: latest, now_ms=clock.now_ms()
    )
    check_range(
        wanted.start,
        wanted.end,
        next_offsets=wanted.start if known is None else known.offsets,
        earliest=earliest,
        latest=latest,
    )
    return TopicSource(
        wanted,
        plan=plan,
        schema=table.schema,
        cluster=cluster,
        schemas=resolve_schemas(stream, clusters),
        topic_id=topic.topic_id,
        clock=clock,
    )
