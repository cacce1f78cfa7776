"""Raw records of an explanation: the records of topics that its versions come from, read again from Kafka.

| state | meaning |
|---|---|
| `present` | the topic has the record |
| `unknown: expired` | the topic does not have it any more: by its retention or compaction, or it was created again |
| `unknown: not allowed` | operators do not allow the service to show records of the topic |
| `unknown: unavailable` | Kafka did not answer in time, or it is not known any more which topic had the record |

The explanation does not fail because a record cannot be shown.
"""

import base64
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import LakeError
from braid.records.stream_plan import plan_stream
from braid.records.topic_records import (
    RecordPosition,
    TopicRecord,
    TopicRecordReader,
    WantedRecords,
)
from braid.records.trial import try_records
from braid.schemas import (
    Arrival,
    RawBytes,
    RawHeader,
    RawRecord,
    RawRecordState,
    RecordPlace,
    RowExplanation,
    SampleRecord,
    SampleResult,
    StreamSpec,
    TableDocument,
)
from braid.service.control.row_versions import VersionStreams
from braid.service.times import iso_utc

RECORDS_MAX: Final = 20
"""Most records of an explanation that are read: those that give a value first, then the newest."""
BYTES_MAX: Final = 128 << 10
"""The longest key, value or header that is shown."""
HEADERS_MAX: Final = 100

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a record of a group is."""

    group: str
    stream: str | None
    topic: str | None
    arrival: Arrival

    @property
    def position(self) -> RecordPosition:
        return self.arrival.partition, self.arrival.offset


def raw_records(
    explanation: RowExplanation,
    streams: VersionStreams,
    *,
    clusters: KafkaClusters,
    reader: TopicRecordReader | None,
) -> tuple[RawRecord, ...]:
    """Return the records that an explanation names, `RECORDS_MAX` at most; takes as long as `reader` does.

    Args:
        explanation: The explanation.
        streams: The streams of its versions.
        clusters: The clusters, with the topics of which records may be shown.
        reader: Reads the records; None: operators allow no topic.
    """
    places = list(dict.fromkeys(_places(explanation)))[:RECORDS_MAX]
    readable: dict[str, list[_Place]] = {}
    shown: dict[_Place, RawRecord] = {}
    for place in places:
        refusal = _refusal(place, streams.document, clusters)
        if refusal is not None:
            shown[place] = _absent(place, *refusal)
        elif reader is None:
            shown[place] = _absent(place, *_NOT_ALLOWED)
        else:
            readable.setdefault(place.group, []).append(place)
    if reader is not None and readable:
        assert streams.document is not None, "a place without a declaration is refused"
        wanted = [
            _wanted(group, of_group, streams, streams.document)
            for group, of_group in readable.items()
        ]
        for one, of_group, found in zip(
            wanted, readable.values(), reader.read(wanted), strict=True
        ):
            shown |= _shown(one.stream, of_group, found, streams, streams.document)
    return tuple(shown[place] for place in places)


_NOT_ALLOWED: Final = (
    RawRecordState.NOT_ALLOWED,
    "start the service with a `--clusters` file in which `show_records` of the cluster allows the topic",
)


def _places(explanation: RowExplanation) -> Iterator[_Place]:
    """Yield the places of records, of those first that give values."""
    for column in explanation.columns.values():
        if column.group is not None and column.winner is not None:
            yield from _place(column.group, column.winner)
    for version in explanation.versions:
        for group, place in version.groups.items():
            yield from _place(group, place)


def _place(group: str, place: RecordPlace) -> Iterator[_Place]:
    if place.arrival is not None:
        yield _Place(group=group, stream=place.stream, topic=place.topic, arrival=place.arrival)


def _refusal(
    place: _Place, document: TableDocument | None, clusters: KafkaClusters
) -> tuple[RawRecordState, str] | None:
    """Return why a record is not read; None: it can be."""
    entry = None if document is None or place.stream is None else document.streams.get(place.stream)
    if entry is None or place.topic is None or entry.spec.topic != place.topic:
        message = "it is not known any more which topic the record was in"
        return RawRecordState.UNAVAILABLE, message
    cluster = clusters.of(entry.spec.kafka)
    return None if cluster is not None and cluster.may_show(place.topic) else _NOT_ALLOWED


def _wanted(
    group: str, places: Sequence[_Place], streams: VersionStreams, document: TableDocument
) -> WantedRecords:
    [name] = {place.stream for place in places}
    assert name is not None, "a place without a stream is refused"
    order = streams.orders.get(group)
    return WantedRecords(
        stream=document.streams[name].spec,
        topic_id=order.topic_id if order is not None else "",
        positions=[place.position for place in places],
    )


def _shown(
    stream: StreamSpec,
    places: Sequence[_Place],
    found: Mapping[RecordPosition, TopicRecord] | LakeError,
    streams: VersionStreams,
    document: TableDocument,
) -> dict[_Place, RawRecord]:
    """Return what was found of the records of one topic."""
    if isinstance(found, LakeError):
        logger.warning("raw records cannot be read topic=%s: %s", stream.topic, found)
        message = "Kafka does not answer, or refuses; the log of the service has the cause"
        return {place: _absent(place, RawRecordState.UNAVAILABLE, message) for place in places}
    present = [place for place in places if place.position in found]
    results = _read_now(
        stream, [(place, found[place.position]) for place in present], streams, document
    )
    gone = "the topic does not have the record any more"
    return {
        **{place: _absent(place, RawRecordState.EXPIRED, gone) for place in places},
        **{
            place: _present(place, found[place.position], result)
            for place, result in zip(present, results, strict=True)
        },
    }


def _read_now(
    stream: StreamSpec,
    records: Sequence[tuple[_Place, TopicRecord]],
    streams: VersionStreams,
    document: TableDocument,
) -> Sequence[SampleResult | None]:
    """Return what the stream, as it is declared now, makes of records; None for those that cannot be read here."""
    if stream.schema_registry is not None or not records:
        # Only runners have logins of registries.
        return [None] * len(records)
    plan = plan_stream(
        table=document.identifier,
        spec=document.table,
        stream=stream,
        schema=streams.schema,
        other_streams=[entry.spec for entry in document.streams.values()],
    )
    return try_records(plan, streams.schema, [_sample(*one) for one in records])


def _sample(place: _Place, record: TopicRecord) -> SampleRecord:
    headers = {
        name: text
        for name, value in record.headers[:HEADERS_MAX]
        if value is not None and (text := _text(value)) is not None
    }
    return SampleRecord(
        key_base64=None if record.key is None else _base64(record.key),
        value_base64=None if record.value is None else _base64(record.value),
        headers=headers,
        timestamp_ms=max(0, record.timestamp_ms),
        partition=place.arrival.partition,
        offset=place.arrival.offset,
    )


def _present(place: _Place, record: TopicRecord, result: SampleResult | None) -> RawRecord:
    return RawRecord(
        group=place.group,
        stream=place.stream,
        topic=place.topic,
        arrival=place.arrival,
        state=RawRecordState.PRESENT,
        timestamp=iso_utc(record.timestamp_ms),
        key=_raw(record.key),
        value=_raw(record.value),
        headers=tuple(
            RawHeader(name=name, value=_raw(value)) for name, value in record.headers[:HEADERS_MAX]
        ),
        result=result,
    )


def _absent(place: _Place, state: RawRecordState, message: str) -> RawRecord:
    return RawRecord(
        group=place.group,
        stream=place.stream,
        topic=place.topic,
        arrival=place.arrival,
        state=state,
        message=message,
    )


def _raw(data: bytes | None) -> RawBytes | None:
    if data is None:
        return None
    if len(data) > BYTES_MAX:
        return RawBytes(size_bytes=len(data))
    text = _text(data)
    if text is not None:
        return RawBytes(size_bytes=len(data), text=text)
    return RawBytes(size_bytes=len(data), base64=_base64(data))


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
