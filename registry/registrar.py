"""Registrar of tables and streams: registration, lifecycle verbs, deletion of streams, and requests for replays.

The registrar changes the documents of tables. Runners and the command line also use it to record what they have done: a
stream that has completed, the result of a replay, the buckets of a rescaled table. The audit log has the changes that
someone has requested, each with the actor that the registrar acts for (`by`). `check_table`, `completed_stream`
and `check_replay` check a request and change nothing.

A change is a function from the newest document to the next one. Each attempt calls it again with the newest document.
So a rule across streams is checked on exactly the document that the change is applied to, and a race cannot break it.
Only the creation of a table has no document to begin with, so it has a loop of its own (`put_table`). Before a stream
is deleted, or a newly registered stream takes columns over, a commit to the table fences the streams that may still
write. A registered stream cannot take columns over by a change (`takeover`).

The base class, `TableAlterer`, makes changes of schemas. `table_dropper` drops tables, and `position_setter` sets
positions of streams.
"""

from copy import copy
from dataclasses import dataclass

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, Clock
from braid.registry.alteration.redeclaration import declared_differences, with_row_rules
from braid.registry.alteration.table_alterer import CheckTests, TableAlterer
from braid.registry.errors import (
    DefinitionRefused,
    RegistryConflict,
    StreamNotStopped,
)
from braid.registry.replay_requests import (
    checked_replay,
    with_replays,
    with_request,
    with_result,
    without_request,
)
from braid.registry.rules.tables.table_rules import check_table
from braid.registry.store.audit_log import UNKNOWN_ACTOR
from braid.registry.store.document_writer import (
    ATTEMPTS,
    DocumentWriter,
    check_storable,
    too_many_conflicts,
)
from braid.registry.store.documents import RegistryStore
from braid.registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from braid.registry.store.stored_documents import features_of, with_table_features
from braid.registry.store.versions import Versioned
from braid.registry.stream_admission import StreamAdmission
from braid.registry.stream_entries import (
    Verb,
    VerbEffect,
    completed_entry,
    entry_after_verb,
    entry_of,
    with_entry,
)
from braid.registry.table_creator import TableCreator
from braid.registry.takeover import fence_streams, former_owners, new_entry
from braid.schemas import (
    Actor,
    AuditAction,
    DesiredState,
    FieldProblem,
    LetterSelection,
    ReplayResult,
    RequestedReplay,
    StreamDefinition,
    StreamEntry,
    StreamSpec,
    StreamState,
    TableDocument,
    TableSpec,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The result of a registration.

    Attributes:
        document: The newest document.
        is_new: Whether this request has registered the table or stream.
    """

    document: TableDocument
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedVerb:
    """The result of a lifecycle verb.

    Attributes:
        document: The newest document.
        message: What was done, or why there was nothing to do.
    """

    document: TableDocument
    message: str


class Registrar(TableAlterer):
    """Reads and changes the registered tables and streams of one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        catalog: Catalog,
        clock: Clock,
        *,
        clusters: KafkaClusters | None = None,
        check_tests: CheckTests | None = None,
        actor: Actor = UNKNOWN_ACTOR,
    ) -> None:
        """Create a registrar.

        Args:
            store: The documents.
            catalog: The tables.
            clock: Gives the creation times of tables, and the times of requests for replays.
            clusters: The clusters that streams may name; None: only `default`, which the runners know.
            check_tests: Runs the required tests of a document that is about to be written; None: they are not run.
            actor: Whom the audit log names as the one who makes the changes.
        """
        writer = DocumentWriter(store, catalog, actor=actor)
        super().__init__(writer, catalog, check_tests=check_tests)
        self._store = store
        self._clock = clock
        self._leases = store.leases()
        self._tables = TableCreator(store, catalog)
        self._streams = StreamAdmission(catalog, clusters or KafkaClusters())

    def by(self, actor: Actor) -> "Registrar":
        """Return a registrar of the same warehouse that acts for another actor."""
        other = copy(self)
        other._writer = self._writer.by(actor)  # of the same class
        return other

    def document(self, identifier: str) -> TableDocument:
        """Return the newest document of a table.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return self._writer.newest(identifier).value

    def entry(self, identifier: str, stream: str) -> StreamEntry:
        """Return a stream and its desired state.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
        """
        return entry_of(self.document(identifier), stream)

    def check_table(self, database: str, name: str, spec: TableSpec) -> list[FieldProblem]:
        """Return the problems for which `put_table` would refuse; changes nothing."""
        found = self._store.table(f"{database}.{name}")
        problems = _new_problems(database, name, spec, found)
        if problems:
            return problems
        if found is not None:
            problems = declared_differences(found.value.table, spec)
            changed = found.value.model_copy(update={"table": spec})
            return problems or self._failed_tests(changed)
        document = self._first_document(database, name, spec)
        return self._tables.check(document) or self._failed_tests(document)

    def put_table(
        self,
        database: str,
        name: str,
        spec: TableSpec,
        *,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Registration:
        """Create a table, or find the registered one with the same declaration.

        The rules for stale and complete rows, the feature views and the tests may differ, and are replaced: no stored row
        depends on them. Everything else is changed by `alter`.

        Raises:
            DefinitionRefused: The declaration breaks rules, or required tests fail; `problems` has all of them.
            DefinitionDiffers: A table of that name exists with another declaration.
            PreconditionFailed: The document is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """
        identifier = f"{database}.{name}"
        problems = _new_problems(database, name, spec, self._store.table(identifier))
        if problems:
            message = f"the table {identifier} cannot be created"
            raise DefinitionRefused(message, problems=problems)
        for _ in range(ATTEMPTS):
            found = self._store.table(identifier)
            precondition.check(None if found is None else revision_of(found.value))
            if found is not None:

                def change(newest: TableDocument) -> TableDocument:
                    changed = with_row_rules(newest, spec, precondition)
                    return newest if changed == newest else self._tested(changed)

                document = self._writer.change(identifier, change, action=AuditAction.PUT_TABLE)
                return Registration(document=document, is_new=False)
            document = self._tested(self._first_document(database, name, spec))
            check_storable(document)
            try:
                self._tables.create(document, self._writer.note(AuditAction.PUT_TABLE))
            except RegistryConflict:
                continue
            return Registration(document=document, is_new=True)
        raise too_many_conflicts(identifier)

    def record_buckets(self, identifier: str, buckets: int) -> TableDocument:
        """Record the bucket count of a rescaled table in its declaration; its streams continue.

        Whoever rescales the table creates the entry in the audit log, because the table is rescaled before.

        Raises:
            TableNotFound: No table of that name is registered.
        """

        def change(document: TableDocument) -> TableDocument:
            spec = document.table.model_copy(update={"buckets": buckets})
            return document.model_copy(update={"table": spec})

        return self._writer.change(identifier, change, action=None)

    def completed_stream(
        self, document: TableDocument, name: str, definition: StreamDefinition
    ) -> StreamSpec:
        """Return a stream as `put_stream` would register it; changes nothing.

        Args:
            document: The table's document.
            name: The stream's name.
            definition: The requested definition.

        Raises:
            DefinitionRefused, DefinitionDiffers: `put_stream` would refuse the definition.
        """
        spec = self._streams.admit(document, name, definition)
        self._tested(with_entry(document, StreamEntry(spec=spec)), is_of_request=False)
        return spec

    def put_stream(
        self,
        identifier: str,
        name: str,
        definition: StreamDefinition,
        *,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Registration:
        """Register a stream, or change it; the runner of a changed stream applies the change.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: The definition breaks rules, or the stream may not take over the columns of
                another one; `problems` has all reasons.
            DefinitionDiffers: The table holds offsets of this stream, and the change would make
                them those of another topic or group.
            StreamNotStopped: A runner still holds a stream whose group this one takes over.
            PreconditionFailed: The stream is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """
        is_new = False

        def change(document: TableDocument) -> TableDocument:
            nonlocal is_new
            found = document.streams.get(name)
            is_new = found is None
            precondition.check(None if found is None else revision_of(found))
            spec = self._streams.admit(document, name, definition)
            if found is None or found.spec != spec:
                self._tested(with_entry(document, StreamEntry(spec=spec)), is_of_request=False)
            if found is None:
                # Fenced before the entry is written: once a runner can start the new stream, no delayed
                # runner of a former owner may commit any more.
                table = self._catalog.table(identifier)
                former = former_owners(document, table, spec)
                fence_streams(self._catalog, self._leases, identifier, former)
                return with_entry(document, new_entry(table, spec, definition))
            if found.spec == spec:
                return document
            # The runner applies the new version, and restarts the query only if it has to.
            changed = {
                "spec": spec,
                "version": found.version + 1,
                "features": features_of(spec, besides=found.features),
                # A stream that has completed reads once more, by the new declaration.
                "restart_generation": found.restart_generation + found.is_completed,
            }
            entry = found.model_copy(update=changed)
            return with_entry(document, entry)

        changed_document = self._writer.change(
            identifier, change, action=AuditAction.PUT_STREAM, stream=name
        )
        return Registration(document=changed_document, is_new=is_new)

    def delete_stream(
        self, identifier: str, stream: str, *, precondition: Precondition = NO_PRECONDITION
    ) -> None:
        """Delete a stream, so that another one may own its group.

        Its rows stay, and so does its position in the table: a stream of the same name and topic
        continues there, unless another stream has written its group by then and the request sets
        `starting_offsets`.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            StreamNotStopped: Its desired state is not STOPPED, or a runner still holds it.
            PreconditionFailed: The stream is not the one that the caller has read.
            LakeError: The end of its epoch cannot be committed; call again.
        """

        def change(document: TableDocument) -> TableDocument:
            entry = entry_of(document, stream)
            precondition.check(revision_of(entry))
            if entry.desired_state is not DesiredState.STOPPED:
                message = (
                    f"the desired state of the stream {stream} of {identifier} is "
                    f"{entry.desired_state.value}\n"
                    "hint: stop it, and wait until its runner has released it"
                )
                raise StreamNotStopped(message)
            # The epoch ends before the entry is removed: a delayed runner cannot commit afterwards.
            fence_streams(self._catalog, self._leases, identifier, (stream,))
            streams = {name: other for name, other in document.streams.items() if name != stream}
            return document.model_copy(update={"streams": streams})

        self._writer.change(identifier, change, action=AuditAction.DELETE_STREAM, stream=stream)

    def request_replay(
        self, identifier: str, stream: str, selection: LetterSelection, *, request_id: str
    ) -> RequestedReplay:
        """Have the runner of a stream replay dead letters, and return the request, or an equal one under way.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            selection: Which dead letters.
            request_id: Unique to the request.

        Raises:
            TableNotFound, StreamNotFound: There is no such table or stream.
            DefinitionRefused: The replay cannot be right; `problems` says why.
            RegistryConflict: Another replay of the stream is under way, or every attempt lost a race.
        """
        now_ms = self._clock.now_ms()
        document = self._writer.change(
            identifier,
            lambda newest: with_request(
                newest, stream, selection, request_id=request_id, now_ms=now_ms
            ),
            action=AuditAction.REPLAY_DEAD_LETTERS,
            stream=stream,
        )
        replay = document.streams[stream].replay
        assert replay is not None, "the change has set it"
        return replay

    def check_replay(self, identifier: str, stream: str, selection: LetterSelection) -> None:
        """Check that dead letters of a stream can be replayed; changes nothing.

        Raises:
            TableNotFound, StreamNotFound: There is no such table or stream.
            DefinitionRefused: The replay cannot be right; `problems` says why.
        """
        checked_replay(self.document(identifier), stream, selection)

    def allow_replays(self, identifier: str) -> None:
        """Note that dead letters of a table are replayed, so that versions that cannot remember them stay away."""
        self._writer.change(identifier, with_replays, action=None)

    def end_replay(
        self, identifier: str, stream: str, *, request_id: str, result: ReplayResult
    ) -> None:
        """Record the result of a replay, unless the request was withdrawn."""
        self._writer.change(
            identifier,
            lambda newest: with_result(newest, stream, request_id=request_id, result=result),
            action=None,
        )

    def withdraw_replay(self, identifier: str, stream: str) -> None:
        """Withdraw the replay that is under way, if there is one; what was replayed stays so.

        Raises:
            TableNotFound, StreamNotFound: There is no such table or stream.
        """
        self._writer.change(
            identifier,
            lambda newest: without_request(newest, stream),
            action=AuditAction.WITHDRAW_REPLAY,
            stream=stream,
        )

    def apply_verb(
        self, identifier: str, stream: str, verb: Verb, *, reported: StreamState | None = None
    ) -> AppliedVerb:
        """Change a stream's desired state by a lifecycle verb; its runner then reaches that state.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            verb: The verb; `entry_after_verb` has the rules.
            reported: State that a living runner reports; None: no runner has the stream.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            StreamNotRunning: The verb is `restart`, and the stream's desired state is not RUNNING.
        """
        effect: VerbEffect | None = None

        def change(document: TableDocument) -> TableDocument:
            nonlocal effect
            entry = entry_of(document, stream)
            effect = entry_after_verb(entry, verb, reported=reported)
            return document if effect.entry == entry else with_entry(document, effect.entry)

        action = AuditAction(f"{verb.value}_stream")
        document = self._writer.change(identifier, change, action=action, stream=stream)
        assert effect is not None, "a change is computed before it is written"
        assert effect.entry.spec == document.streams[stream].spec, "a verb changes no definition"
        return AppliedVerb(document=document, message=effect.message)

    def complete_stream(self, identifier: str, stream: str, *, generation: int) -> None:
        """Record that a stream has read all that it was started for, so that no runner starts it again.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            generation: `restart_generation` of the entry that the query was started for.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """

        def change(document: TableDocument) -> TableDocument:
            entry = entry_of(document, stream)
            return with_entry(document, completed_entry(entry, generation=generation))

        self._writer.change(identifier, change, action=None)

    def _first_document(self, database: str, name: str, spec: TableSpec) -> TableDocument:
        return with_table_features(
            TableDocument(database=database, name=name, table=spec, created_ms=self._clock.now_ms())
        )


def _new_problems(
    database: str, name: str, spec: TableSpec, registered: Versioned[TableDocument] | None
) -> list[FieldProblem]:
    """Return the problems of a declaration, without those that the registered table has as well."""
    problems = check_table(database, name, spec)
    if problems and registered is not None:
        known = set(check_table(database, name, registered.value.table))
        return [problem for problem in problems if problem not in known]
    return problems
