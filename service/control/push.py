"""Push of records to the topic of a stream: checks of each record, its Kafka key, and the answer.

records ──► trial by the stream's reader ──► accepted: key ──► producer ──► partition and offset
                                         └─► refused, with the reason

A push with an idempotency key is looked up first, and then sent together with its answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.lake import InvalidRequest, LakeError, Problem, TableSchema
from braid.records.outgoing_records import (
    IdempotencyKey,
    OutgoingRecord,
    OutgoingRequest,
    ProducedRecords,
    RecordProducer,
)
from braid.registry.stream_entries import entry_of
from braid.schemas import SampleOutcome, SampleRecord, SampleResult, StreamSpec, TableDocument
from braid.schemas.pushed_records import PushAnswer, PushedRecord, PushOutcome, PushResult
from braid.schemas.stream import ColumnSource
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from braid.service.control.stream_trial import tried_stream


class SignatureRefused(LakeError):
    """A push lacks the signature that its topic needs, or has a wrong one."""


class SenderUnknown(LakeError):
    """A push has neither an access token nor a signature that could take its place."""


NEITHER: Final = (
    "the push has no access token, and not the signature of a stream whose pushes are signed: "
    "send the header `authorization: Bearer TOKEN`"
)
"""The same whether the stream exists or not: who sends it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTarget:
    """Where a push goes.

    Attributes:
        document: The document of the table.
        schema: The table's schema.
        stream: The stream.
        cluster: The cluster of its topic.
    """

    document: TableDocument
    schema: TableSchema
    stream: StreamSpec
    cluster: NamedCluster

    def check_signature(
        self, header: Callable[[str], str | None], body: bytes, *, is_sender_known: bool
    ) -> None:
        """Check the signature of a push, if its topic needs one.

        Args:
            header: Returns a header of the request by its name in lower case.
            body: The body.
            is_sender_known: Whether the sender has an access token that permits the push.

        Raises:
            SenderUnknown: The sender is not known, and pushes to the topic are not signed.
            SignatureRefused: There is none, or it is not that of the body.
            InvalidRequest: The secret cannot be read.
        """
        signature = self.cluster.signature_of(self.stream.topic)
        owner = f"[clusters.{self.cluster.name}]"
        if signature is None and not is_sender_known:
            raise SenderUnknown(NEITHER)
        if signature is None or signature.is_valid(header(signature.header), body, owner=owner):
            return
        message = (
            f"pushes to topic {self.stream.topic} are signed: `{signature.header}` has HMAC-SHA256 of the body, in "
            f"{signature.encoding}{f' behind `{signature.prefix}`' if signature.prefix else ''}"
        )
        raise SignatureRefused(message)


def push_target(
    document: TableDocument, schema: TableSchema, name: str, clusters: KafkaClusters
) -> PushTarget:
    """Return the stream to whose topic clients of the service may push.

    Raises:
        StreamNotFound: The table has no such stream.
        InvalidRequest: Operators do not allow pushes to its topic, or its messages name their schemas by id.
    """
    stream = entry_of(document, name).spec
    if stream.is_from_spark:
        message = "the stream has no topic: Spark programs write its rows"
        raise _refused(stream.topic, message, "write the rows with the format `braid` of Spark")
    cluster = clusters.of(stream.kafka)
    if cluster is None or not cluster.may_push(stream.topic):
        place = "its cluster" if cluster is None else f"[clusters.{cluster.name}]"
        raise _refused(
            stream.topic,
            "the operators of the service do not allow pushes to this topic",
            f"start the service with a `--clusters` file in which `push` of {place} allows it",
        )
    if stream.schema_registry is not None:
        message = "messages or keys of the stream name their schemas by id, which the service cannot look up"
        raise _refused(stream.topic, message, "send its records with a Kafka client")
    return PushTarget(document=document, schema=schema, stream=stream, cluster=cluster)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CheckedPush:
    """The records of a push, checked.

    Attributes:
        target: Where they go.
        outgoing: The records that are sent.
        keys: For each of them the digest of its row's key, if it is known.
        refusals: For each record of the request the answer, if it is not sent.
    """

    target: PushTarget
    outgoing: Sequence[OutgoingRecord]
    keys: Sequence[bytes | None]
    refusals: Sequence[PushResult | None]

    def answer(self, produced: ProducedRecords | None) -> PushAnswer:
        """Return the answer once the places of the records are known; None: none was sent."""
        if produced is None or not self.outgoing:
            return PushAnswer(records=tuple(filter(None, self.refusals)), read_after=None)
        places = iter(produced.places)
        results = []
        for refusal in self.refusals:
            if refusal is not None:
                results.append(refusal)
                continue
            partition, offset = next(places)
            results.append(
                PushResult(outcome=PushOutcome.ACCEPTED, partition=partition, offset=offset)
            )
        after = ReadAfter(
            table=self.target.document.identifier,
            stream=self.target.stream.name,
            topic_id=produced.topic_id,
            records={
                PushedPlace(*place): key
                for place, key in zip(produced.places, self.keys, strict=True)
            },
        )
        return PushAnswer(records=tuple(results), read_after=to_token(after))


def push_records(
    target: PushTarget, records: Sequence[PushedRecord], producer: RecordProducer
) -> PushAnswer:
    """Send the records that the stream would not refuse, and return what became of each.

    Args:
        target: Where they go.
        records: The records.
        producer: Sends them.

    Raises:
        StorageUnavailable: Kafka did not acknowledge all of them in time; some may be in the topic.
        InvalidRequest: The topic does not exist, or the cluster's login cannot be used.
        LimitExceeded: A record is too large for the topic.
    """
    checked = _checked(target, records)
    if not checked.outgoing:
        return checked.answer(None)
    return checked.answer(producer.produce(target.stream, checked.outgoing))


def push_once(
    target: PushTarget,
    records: Sequence[PushedRecord],
    producer: RecordProducer,
    *,
    key: IdempotencyKey,
) -> PushAnswer:
    """Do what `push_records` does, unless a request of the same key has done it; return the answer of the first one.

    Raises:
        RequestDiffers: The request of this key had another body.
        InvalidRequest, LimitExceeded: As `push_records`; none of the records is in the topic.
        StorageUnavailable: Kafka did not answer in time; the same request may be sent again.
    """

    def request() -> OutgoingRequest:
        checked = _checked(target, records)
        return OutgoingRequest(
            records=checked.outgoing,
            answer=lambda produced: checked.answer(produced).model_dump_json().encode(),
        )

    return PushAnswer.model_validate_json(producer.produce_once(target.stream, key, request))


def _checked(target: PushTarget, records: Sequence[PushedRecord]) -> _CheckedPush:
    if not records:
        return _CheckedPush(target=target, outgoing=(), keys=(), refusals=())
    samples = [SampleRecord.model_construct(**dict(record)) for record in records]
    tried = tried_stream(target.document, target.schema, target.stream, samples).samples
    assert tried is not None, "the schemas of the stream's messages are known"
    refusals = [_refusal(record, result) for record, result in zip(records, tried, strict=True)]
    sent = [
        (record, result)
        for record, result, refusal in zip(records, tried, refusals, strict=True)
        if refusal is None
    ]
    return _CheckedPush(
        target=target,
        outgoing=[_outgoing(target.schema, target.stream, *each) for each in sent],
        keys=[key_digest(target.schema, result.row) for _, result in sent],
        refusals=refusals,
    )


def _refusal(record: PushedRecord, result: SampleResult) -> PushResult | None:
    """Return the answer for a record that is not sent; None if it is."""
    if result.outcome is SampleOutcome.DEAD_LETTER:
        return PushResult(outcome=PushOutcome.REFUSED, reason=result.reason, message=result.message)
    if result.outcome is SampleOutcome.IGNORED:
        message = "the record does not belong to the stream, which would leave it out"
        return PushResult(outcome=PushOutcome.REFUSED, reason="ignored", message=message)
    if record.key_bytes is None and record.value_bytes is None:
        message = "a record without a value needs a key"
        return PushResult(outcome=PushOutcome.REFUSED, reason="malformed", message=message)
    return None


def _outgoing(
    schema: TableSchema, stream: StreamSpec, record: PushedRecord, result: SampleResult
) -> OutgoingRecord:
    key = record.key_bytes
    if key is None and not any(one.source is ColumnSource.KEY for one in stream.columns):
        key = row_key_text(schema, result.row)
    return OutgoingRecord(
        key=key,
        value=record.value_bytes,
        headers=record.headers,
        timestamp_ms=record.timestamp_ms,
    )


def row_key_text(schema: TableSchema, row: Any) -> bytes | None:
    """Return the Kafka key of a record that is given without one, so that all records of a row are in one partition.

    Args:
        schema: The table's schema.
        row: The row that the record becomes, as JSON values; None if it is not known.

    Returns:
        The text of the primary key if it is one column, else a JSON object of its columns in their order; None without a
        row.
    """
    if row is None or any(name not in row for name in schema.primary_keys):
        return None
    values = {name: row[name] for name in schema.primary_keys}
    if len(values) == 1:
        (value,) = values.values()
        return value.encode() if isinstance(value, str) else orjson.dumps(value)
    return orjson.dumps(values)


def _refused(topic: str, message: str, hint: str) -> InvalidRequest:
    problem = Problem(field="topic", value=topic, message=message, hint=hint)
    return InvalidRequest("records cannot be pushed to the stream", problems=[problem])
