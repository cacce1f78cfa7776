"""Explanations of rows, and rows as they would be, as JSON. They are computed in threads: versions are read from storage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.json_values import json_row
from braid.formats.key_values import parse_json_key, parse_key
from braid.formats.row_certificate import certify
from braid.lake import Clock, InvalidRequest, KeyExplanation, Problem, SnapshotLookup, TableSchema
from braid.records.topic_records import TopicRecordReader
from braid.schemas import HypotheticalRow, RowCertificate, RowExplanation, SnapshotInfo
from braid.schemas.api import Integers, RowHypothesis
from braid.service.control.raw_records import raw_records
from braid.service.control.row_explanation import column_origins, row_versions
from braid.service.control.row_hypotheses import hypothetical_row
from braid.service.control.row_lookup import measured_ms, snapshot_fields
from braid.service.control.row_request import RowRequest, row_request, state_of
from braid.service.control.row_versions import VersionStreams
from braid.service.query_parameters import parse_query
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served
from braid.service.serving.snapshot_waits import SnapshotWaits

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRow:
    """A row that is explained, and the state of the table that it was read from.

    Attributes:
        served: What was served of the table.
        lookup: The state.
        verified_ms: When the state was determined, milliseconds since 1970.
        request: The request.
        key: The typed primary key.
        found: The explanation.
    """

    served: Served
    lookup: SnapshotLookup
    verified_ms: int
    request: RowRequest
    key: dict[str, object]
    found: KeyExplanation

    @property
    def snapshot(self) -> SnapshotInfo:
        """The snapshot as answers have it."""
        return SnapshotInfo(
            **snapshot_fields(self.lookup.snapshot, self.verified_ms, hidden=self.lookup.hidden)
        )

    @property
    def streams(self) -> VersionStreams:
        """The streams of the row's versions."""
        return VersionStreams(
            document=self.served.table.document,
            schema=self.lookup.schema,
            snapshot=self.lookup.snapshot,
        )


class RowExplainer:
    """Explains rows."""

    def __init__(
        self,
        followers: Followers,
        waits: SnapshotWaits,
        clock: Clock,
        *,
        clusters: KafkaClusters,
        topic_records: TopicRecordReader | None,
    ) -> None:
        """Read nothing yet.

        Args:
            followers: What is served.
            waits: Waits for what is not served yet.
            clock: Tells when older states are read.
            clusters: The Kafka clusters, with the topics of which records may be shown.
            topic_records: Reads records of topics; None: no record is shown.
        """
        self._followers = followers
        self._waits = waits
        self._clock = clock
        self._clusters = clusters
        self._topic_records = topic_records

    async def explain(self, identifier: str, query: bytes) -> bytes:
        """Return why a row has its values, as `RowExplanation`.

        Args:
            identifier: The table.
            query: Query of the address.

        Raises:
            What `RowAnswers.row` raises, but `RowNotFound`.
        """
        return await self.explained(
            identifier,
            query,
            lambda row: self._explanation(row).model_dump_json().encode(),
            takes_raw=True,
        )

    async def certificate(self, identifier: str, query: bytes) -> bytes:
        """Return a row as `RowCertificate`.

        Raises:
            What `explain` raises, and what `certify` raises.
        """
        return await self.explained(
            identifier, query, lambda row: _certificate(row).model_dump_json().encode()
        )

    async def suppose(self, identifier: str, body: RowHypothesis) -> bytes:
        """Return a row as it would be with one more record, or without some, as `HypotheticalRow`.

        Raises:
            What `explain` raises, and what `hypothetical_row` raises.
        """
        at, freshness, visibility = state_of(body)
        request = RowRequest(key=(), at=at, freshness=freshness, visibility=visibility)

        def key_of(schema: TableSchema, _: RowRequest) -> dict[str, object]:
            return parse_json_key(schema, body.key, pointer="/key")

        def answer(row: ExplainedRow) -> bytes:
            return self._supposed(row, body).model_dump_json().encode()

        return await self._explained(identifier, lambda _: request, key_of, answer)

    async def explained(
        self,
        identifier: str,
        query: bytes,
        answer: Callable[[ExplainedRow], AnswerT],
        *,
        takes_raw: bool = False,
    ) -> AnswerT:
        """Return what a function makes of an explained row, in the thread that explains it.

        Args:
            identifier: The table.
            query: Query of the address: the key, and the state.
            answer: The function.
            takes_raw: Whether the address may ask for the records of topics.

        Raises:
            What `explain` raises, and what `answer` raises.
        """
        parameters = parse_query(query)

        def parse(schema: TableSchema) -> RowRequest:
            return row_request(schema, parameters, takes_columns=False, takes_raw=takes_raw)

        def key_of(schema: TableSchema, request: RowRequest) -> dict[str, object]:
            return parse_key(schema, request.key)

        return await self._explained(identifier, parse, key_of, answer)

    async def _explained(
        self,
        identifier: str,
        parse: Callable[[TableSchema], RowRequest],
        key_of: Callable[[TableSchema, RowRequest], dict[str, object]],
        answer: Callable[[ExplainedRow], AnswerT],
    ) -> AnswerT:
        served, request = await self._waits.state(
            identifier,
            lambda served: parse(served.table.lookup.schema),
            lambda request: request.freshness,
        )

        def run() -> AnswerT:
            if request.integers is Integers.TEXT:
                problem = Problem(
                    field="integers", value="text", message="explanations have numbers"
                )
                message = "the parameters of the explanation are not valid"
                raise InvalidRequest(message, problems=[problem])
            lookup, verified_ms = served.state_for(request, self._clock)
            key = key_of(lookup.schema, request)
            row = ExplainedRow(
                served=served,
                lookup=lookup,
                verified_ms=verified_ms,
                request=request,
                key=key,
                found=served.table.table.explain(key, at=lookup),
            )
            return answer(row)

        return await run_in_threadpool(run)

    def _explanation(self, row: ExplainedRow) -> RowExplanation:
        found, streams = row.found, row.streams
        explanation = RowExplanation(
            key=json_row(row.key, [row.lookup.schema.field(name) for name in row.key]),
            exists=found.row is not None,
            columns=column_origins(found, streams),
            versions=row_versions(found, streams),
            snapshot=row.snapshot,
        )
        if not row.request.raw:
            return explanation
        records = raw_records(
            explanation, streams, clusters=self._clusters, reader=self._topic_records
        )
        return explanation.model_copy(update={"records": records})

    def _supposed(self, row: ExplainedRow, body: RowHypothesis) -> HypotheticalRow:
        snapshot, is_newest = row.lookup.snapshot, row.request.at.is_newest
        document = row.served.table.document or self._followers.document(row.lookup.identifier)
        return hypothetical_row(
            row.found,
            body,
            key=row.key,
            streams=row.streams,
            document=document,
            now_ms=measured_ms(snapshot, row.verified_ms, is_newest=is_newest),
            snapshot=row.snapshot,
        )


def _certificate(row: ExplainedRow) -> RowCertificate:
    found, streams = row.found, row.streams
    return certify(
        row.lookup.identifier,
        row.key,
        found,
        snapshot=row.lookup.snapshot,
        commit_time=row.snapshot.commit_time,
        streams=[
            streams.writer_of(found.versions, number, values)
            for number, values in enumerate(found.values)
        ],
    )
