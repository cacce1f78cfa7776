"""Opening of a range of offsets of a topic as the source of a backfill.

The topic is on the stream's Kafka cluster, whose address and login are in the operators' clusters file (`--clusters`).
"""

from braid.backfill.backfill import Target
from braid.backfill.topic.offset_range import TopicRange
from braid.backfill.topic.topic_source import TopicSource
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Clock, backfill_name
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.stream_schemas import resolve_schemas
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
        InvalidRequest: The clusters file does not allow the topic, or the topic has no such range.
        StorageUnavailable: Kafka does not answer.
    """
    document, table = target.document, target.table
    stream = target.entry.spec.model_copy(update={"topic": wanted.topic})
    known = table.committer().stream_positions().get(backfill_name(stream.name, name))
    return TopicSource(
        wanted,
        plan=plan_stream(
            table=document.identifier, spec=document.table, stream=stream, schema=table.schema
        ),
        schema=table.schema,
        cluster=resolve_cluster(stream, clusters),
        schemas=resolve_schemas(stream, clusters),
        next_offsets=None if known is None else known.offsets,
        clock=clock,
    )
