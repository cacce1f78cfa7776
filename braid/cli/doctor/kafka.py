"""Checks of Kafka: whether the clusters of streams answer, and have the streams' topics."""

from collections.abc import Iterator, Sequence

from braid.cli.doctor.findings import Finding, Level
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import LakeError
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.topic import TopicReader
from braid.schemas import StreamSpec


def check_kafka(streams: Sequence[StreamSpec], clusters: KafkaClusters) -> Iterator[Finding]:
    """Yield for each cluster that streams read from whether it answers, and the topics that it lacks.

    Args:
        streams: The streams.
        clusters: The clusters that operators name.
    """
    topics: dict[str, tuple[KafkaCluster, set[str]]] = {}
    for stream in streams:
        try:
            cluster = resolve_cluster(stream, clusters)
        except LakeError as error:
            yield _problem(f"topic {stream.topic}", error)
            continue
        _, names = topics.setdefault(cluster.bootstrap_servers, (cluster, set()))
        names.add(stream.topic)
    for cluster, names in topics.values():
        yield from _check_cluster(cluster, sorted(names))


def _check_cluster(cluster: KafkaCluster, topics: Sequence[str]) -> Iterator[Finding]:
    check = f"kafka {cluster.bootstrap_servers}"
    with TopicReader(cluster) as reader:
        try:
            missing = [topic for topic in topics if reader.describe(topic) is None]
        except LakeError as error:
            yield _problem(check, error)
            return
    for topic in missing:
        yield Finding(
            check=check,
            level=Level.PROBLEM,
            found=f"there is no topic {topic}",
            advice="create it, or correct the topic of the stream",
        )
    if not missing:
        yield Finding(check=check, level=Level.OK, found=f"answers, and has {len(topics)} topics")


def _problem(check: str, error: LakeError) -> Finding:
    lines = str(error).splitlines()
    hints = " ".join(line.removeprefix("hint: ") for line in lines[1:])
    advice = hints or "check address, network, login and certificates of the cluster"
    return Finding(check=check, level=Level.PROBLEM, found=lines[0], advice=advice)
