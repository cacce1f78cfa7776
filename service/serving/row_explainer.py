"""Explanations of rows, and rows as they would be. Computed in threads: versions are read from storage."""

from collections.abc import Callable
from dataclasses import dataclass

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.json_values import json_row
from braid.formats.key_values import parse_json_key, parse_key
from braid.formats.row_certificate import certify
from braid.lake import Clock, InvalidRequest, KeyExplanation, Problem, SnapshotLookup, TableSchema
from braid.records.topic_records import TopicRecordReader
from braid.schemas import HypotheticalRow, RowCertificate, RowExplanation, SnapshotInfo
from braid.schemas.api import Integers, RowHypothesis, Visibility
from braid.service.control.raw_records import raw_records
from braid.service.control.row_explanation import column_origins, row_versions
from braid.service.control.row_hypotheses import hypothetical_row
from braid.service.control.row_lookup import measured_ms, snapshot_fields
from braid.service.control.row_request import (
    RowRequest,
    check_freshness,
    row_request,
    state_of,
)
from braid.service.control.row_versions import VersionStreams
from braid.service.query_parameters import parse_query
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The state of a table that a request is answered from."""

    served: Served
    lookup: SnapshotLookup
    verified_ms: int
    is_newest: bool

    def explain(self, key: dict[str, object]) -> KeyExplanation:
        return self.served.table.table.explain(key, at=self.lookup)

    @property
    def snapshot(self) -> SnapshotInfo:
        return SnapshotInfo(
            **snapshot_fields(self.lookup.snapshot, self.verified_ms, hidden=self.lookup.hidden)
        )

    @property
    def streams(self) -> VersionStreams:
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
        clock: Clock,
        *,
        clusters: KafkaClusters,
        topic_records: TopicRecordReader | None,
    ) -> None:
        """Read nothing yet.

        Args:
            followers: What is served.
            clock: Tells when older states are read.
            clusters: The Kafka clusters, with the topics of which records may be shown.
            topic_records: Reads records of topics; None: no record is shown.
        """
        self._followers = followers
        self._clock = clock
        self._clusters = clusters
        self._topic_records = topic_records

    def explain(self, identifier: str, query: bytes) -> RowExplanation:
        """Return why a row has its values.

        Args:
            identifier: The table.
            query: Query of the address.

        Raises:
            What `RowAnswers.row` raises, but `RowNotFound`.
        """
        state, request, key = self._read(identifier, query, takes_raw=True)
        found, streams = state.explain(key), state.streams
        explanation = RowExplanation(
            key=json_row(key, [state.lookup.schema.field(name) for name in key]),
            exists=found.row is not None,
            columns=column_origins(found, streams),
            versions=row_versions(found, streams),
            snapshot=state.snapshot,
        )
        if not request.raw:
            return explanation
        records = raw_records(
            explanation, streams, clusters=self._clusters, reader=self._topic_records
        )
        return explanation.model_copy(update={"records": records})

    def certificate(self, identifier: str, query: bytes) -> RowCertificate:
        """Return the certificate of a row.

        Raises:
            What `explain` raises, and what `certify` raises.
        """
        state, _, key = self._read(identifier, query, takes_raw=False)
        found, streams, snapshot = state.explain(key), state.streams, state.lookup.snapshot
        return certify(
            identifier,
            key,
            found,
            snapshot=snapshot,
            commit_time=state.snapshot.commit_time,
            streams=[
                streams.writer_of(found.versions, number, values)
                for number, values in enumerate(found.values)
            ],
        )

    def suppose(self, identifier: str, body: RowHypothesis) -> HypotheticalRow:
        """Return a row as it would be with one more record, or without some.

        Raises:
            What `explain` raises, and what `hypothetical_row` raises.
        """
        at, freshness = state_of(body)
        check_freshness(at, freshness)
        request = RowRequest(key=(), at=at, freshness=freshness, visibility=body.visibility)
        state, _ = self._state(identifier, lambda _: request)
        key = parse_json_key(state.lookup.schema, body.key, pointer="/key")
        document = state.served.table.document or self._followers.document(identifier)
        return hypothetical_row(
            state.explain(key),
            body,
            key=key,
            streams=state.streams,
            document=document,
            now_ms=measured_ms(state.lookup.snapshot, state.verified_ms, is_newest=state.is_newest),
            snapshot=state.snapshot,
        )

    def _read(
        self, identifier: str, query: bytes, *, takes_raw: bool
    ) -> tuple[_State, RowRequest, dict[str, object]]:
        """Return the state that an address asks for, the request, and the typed key."""
        parameters = parse_query(query)
        state, request = self._state(
            identifier,
            lambda schema: row_request(
                schema, parameters, takes_columns=False, takes_raw=takes_raw
            ),
        )
        return state, request, parse_key(state.lookup.schema, request.key)

    def _state(
        self, identifier: str, parse: Callable[[TableSchema], RowRequest]
    ) -> tuple[_State, RowRequest]:
        """Return the state that a request asks for, and the request."""
        served = self._followers.current(identifier) or self._followers.newest(identifier)
        request = parse(served.table.lookup.schema)
        if not self._followers.is_fresh(served, request.freshness):
            served = self._followers.newest(identifier, request.freshness)
            request = parse(served.table.lookup.schema)
        lookup, verified_ms = served.table.lookup, served.verified_ms
        if request.integers is Integers.TEXT:
            problem = Problem(field="integers", value="text", message="explanations have numbers")
            message = "the parameters of the explanation are not valid"
            raise InvalidRequest(message, problems=[problem])
        is_merged = request.visibility is Visibility.MERGED
        if not request.at.is_newest or is_merged:
            lookup = served.table.table.lookup_at(request.at, merged=is_merged)
            verified_ms = self._clock.now_ms()
        state = _State(
            served=served,
            lookup=lookup,
            verified_ms=verified_ms,
            is_newest=request.at.is_newest,
        )
        return state, request
