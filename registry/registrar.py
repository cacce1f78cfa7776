"""Registrar of streams: registration, lifecycle verbs, deletion, and requests for replays. It has the methods for tables, too.

The registrar changes the documents of tables. Runners and the command line also use it to record what they have done: a
stream that has completed, the result of a replay, the buckets of a rescaled table. The audit log has the changes that
someone has requested, each with the actor that the registrar acts for (`by`). Methods `plan_…` and
`check_replay` check a request and change nothing.

A change is a function from the newest document to the next one. Each attempt calls it again with the newest document.
So a rule across streams is checked on exactly the document that the change is applied to, and a race cannot break it.
Before a stream is deleted, or a newly registered stream takes columns over, a commit to the table fences the streams that may still
write. A registered stream cannot take columns over by a change (`takeover`).

The base class, `TableRegistrar`, registers tables, and its own base class changes schemas. `table_dropper` drops tables, and
`position_setter` sets positions of streams.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Final

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, Clock, Table, TableNotFound
from braid.registry.alteration.table_alterer import CheckTests
from braid.registry.effects import (
    PlannedChange,
    effects_of_change,
    effects_of_deletion,
    effects_of_registration,
    effects_of_replay,
    refused_change,
)
from braid.registry.errors import (
    DefinitionRefused,
    RegistryConflict,
    RegistryError,
    StreamNotFound,
    StreamNotStopped,
)
from braid.registry.replay_requests import (
    checked_replay,
    with_replays,
    with_request,
    with_result,
    without_request,
)
from braid.registry.store.audit_log import UNKNOWN_ACTOR
from braid.registry.store.document_writer import check_features
from braid.registry.store.documents import RegistryStore
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.revision import (
    NO_PRECONDITION,
    Precondition,
    revision_of,
    stream_revision,
)
from braid.registry.stream_admission import StreamAdmission
from braid.registry.stream_entries import (
    Verb,
    VerbEffect,
    after_verbs,
    changed_entry,
    completed_entry,
    entry_after_verb,
    entry_of,
    stopped_entry,
    with_entry,
)
from braid.registry.table_registrar import Registration, TableRegistrar
from braid.registry.takeover import (
    check_released,
    fence_streams,
    former_owners,
    new_entry,
    positions_in,
)
from braid.schemas import (
    Actor,
    AuditAction,
    DesiredState,
    LetterSelection,
    ReplayResult,
    RequestedReplay,
    StreamDefinition,
    StreamEntry,
    StreamSpec,
    StreamState,
    TableDocument,
)

REPEATED: Final = "the first request with this idempotency key has done it"
"""Message of a repeated request whose first answer was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStream:
    """A stream as it would be registered or changed.

    Attributes:
        spec: The completed definition.
        document: The document that would be written.
        effects: What the registration or change would do, one effect each.
    """

    spec: StreamSpec
    document: TableDocument
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedVerb:
    """The result of a lifecycle verb.

    Attributes:
        document: The newest document.
        message: What was done, or why there was nothing to do.
    """

    document: TableDocument
    message: str


class Registrar(TableRegistrar):
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
        super().__init__(store, catalog, clock, check_tests=check_tests, actor=actor)
        self._holders = store.holders()
        self._streams = StreamAdmission(clusters or KafkaClusters())

    def by(self, actor: Actor) -> "Registrar":
        """Return a registrar of the same warehouse that acts for another actor."""
        other = copy(self)
        other._writer = self._writer.by(actor)  # of the same class
        return other

    def named(self, request: NamedRequest | None) -> "Registrar":
        """Return a registrar that makes the changes of a named request, which are made once; None: without a name."""
        other = copy(self)
        other._writer = self._writer.named(request)  # of the same class
        return other

    def entry(self, identifier: str, stream: str) -> StreamEntry:
        """Return a stream and its desired state.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
        """
        return entry_of(self.document(identifier), stream)

    def plan_stream(
        self,
        document: TableDocument,
        name: str,
        definition: StreamDefinition,
        *,
        initial_state: DesiredState = DesiredState.RUNNING,
    ) -> PlannedStream:
        """Return a stream as `put_stream` would register or change it, and the effects of that; changes nothing.

        Args:
            document: The table's document, also one that is only planned.
            name: The stream's name.
            definition: The requested definition.
            initial_state: The desired state of a stream that is not registered yet.

        Raises:
            DefinitionRefused, DefinitionDiffers: `put_stream` would refuse the definition.
        """
        table: Table | None = None
        with suppress(TableNotFound):  # until a planned table is created
            table = self._catalog.table(document.identifier)
        found = document.streams.get(name)
        spec = self._admitted(document, name, definition, table)
        if found is not None:
            entry = changed_entry(found, spec)
            effects = effects_of_change(found, entry)
        else:
            entry = new_entry(table, spec, definition, initial_state)
            effects = effects_of_registration(
                entry,
                former=former_owners(document, table, spec),
                position=positions_in(table).get(name),
            )
        return PlannedStream(spec=spec, document=with_entry(document, entry), effects=effects)

    def put_stream(
        self,
        identifier: str,
        name: str,
        definition: StreamDefinition,
        *,
        initial_state: DesiredState = DesiredState.RUNNING,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Registration:
        """Register a stream, or change it; the runner of a changed stream applies the change.

        Args:
            identifier: `<database>.<table>`.
            name: The stream's name.
            definition: The definition.
            initial_state: The desired state of a stream that is not registered yet; a registered one keeps its own.
            precondition: Condition on the stream's revision.

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
            precondition.check(None if found is None else stream_revision(found))
            table = self._catalog.table(identifier)
            spec = self._admitted(document, name, definition, table)
            if found is not None:
                return with_entry(document, changed_entry(found, spec))
            # Fenced before the entry is written: once a runner can start the new stream, no delayed
            # runner of a former owner may commit any more.
            former = former_owners(document, table, spec)
            fence_streams(self._catalog, self._holders, identifier, former)
            return with_entry(document, new_entry(table, spec, definition, initial_state))

        changed_document = self._writer.change(
            identifier, change, action=AuditAction.PUT_STREAM, stream=name
        )
        return Registration(document=changed_document, is_new=is_new)

    def change_stream(
        self,
        identifier: str,
        name: str,
        declare: Callable[[StreamSpec], StreamDefinition],
        *,
        precondition: Precondition = NO_PRECONDITION,
    ) -> TableDocument:
        """Change a registered stream, and return the newest document; its runner applies the change.

        Args:
            identifier: `<database>.<table>`.
            name: The stream's name.
            declare: Returns the new definition for the newest declaration; called at every attempt.
            precondition: Condition on the stream's revision.

        Raises:
            TableNotFound, StreamNotFound: There is no such table or stream.
            DefinitionRefused, DefinitionDiffers: As by `put_stream`.
            PreconditionFailed: The stream is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """

        def change(document: TableDocument) -> TableDocument:
            found = entry_of(document, name)
            precondition.check(stream_revision(found))
            table = self._catalog.table(identifier)
            spec = self._admitted(document, name, declare(found.spec), table)
            return with_entry(document, changed_entry(found, spec))

        return self._writer.change(identifier, change, action=AuditAction.PATCH_STREAM, stream=name)

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
            precondition.check(stream_revision(entry_of(document, stream)))
            stopped_entry(document, stream)
            # The epoch ends before the entry is removed: a delayed runner cannot commit afterwards.
            fence_streams(self._catalog, self._holders, identifier, (stream,))
            streams = {name: other for name, other in document.streams.items() if name != stream}
            return document.model_copy(update={"streams": streams})

        self._writer.change(identifier, change, action=AuditAction.DELETE_STREAM, stream=stream)

    def plan_deletion(self, identifier: str, stream: str) -> PlannedChange:
        """Return what `delete_stream` would do, or why it would refuse; changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
        """
        document = self.document(identifier)
        check_features(document)
        try:
            entry = stopped_entry(document, stream)
            check_released(self._holders, identifier, (stream,))
        except StreamNotStopped as error:
            return refused_change(error, field="stream")
        return PlannedChange(effects=effects_of_deletion(entry))

    def plan_replay(
        self, identifier: str, stream: str, selection: LetterSelection
    ) -> PlannedChange:
        """Return what `request_replay` would do, or why it would refuse; changes nothing.

        Raises:
            TableNotFound, StreamNotFound: There is no such table or stream.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
            RegistryConflict: Another replay of the stream is under way.
        """
        document = self.document(identifier)
        check_features(document)
        try:
            with_request(document, stream, selection, request_id="", now_ms=self._clock.now_ms())
        except DefinitionRefused as error:
            return PlannedChange(problems=error.problems)
        return PlannedChange(effects=effects_of_replay(stream, selection))

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
        replay = entry_of(document, stream).replay
        if replay is None:  # a request with a name that was made before
            message = f"the replay of the stream {stream} that this request has begun was withdrawn"
            raise RegistryConflict(message)
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

    def withdraw_replay(
        self, identifier: str, stream: str, *, precondition: Precondition = NO_PRECONDITION
    ) -> None:
        """Withdraw the replay that is under way, if there is one; what was replayed stays so.

        Raises:
            TableNotFound, StreamNotFound: There is no such table or stream.
            PreconditionFailed: The newest replay is not the one that the caller has read.
        """

        def change(newest: TableDocument) -> TableDocument:
            replay = entry_of(newest, stream).replay
            precondition.check(None if replay is None else revision_of(replay))
            return without_request(newest, stream)

        self._writer.change(identifier, change, action=AuditAction.WITHDRAW_REPLAY, stream=stream)

    def apply_verb(
        self,
        identifier: str,
        stream: str,
        verb: Verb,
        *,
        reported: StreamState | None = None,
        only_failed: bool = False,
    ) -> AppliedVerb:
        """Change a stream's desired state by a lifecycle verb; its runner then reaches that state.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            verb: The verb; `entry_after_verb` has the rules.
            reported: State that a living runner reports; None: no runner has the stream.
            only_failed: Restart the stream only if it has failed or waits for another attempt.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            StreamNotRunning: The verb is `restart`, and the stream's desired state is not RUNNING.
        """
        effect: VerbEffect | None = None

        def change(document: TableDocument) -> TableDocument:
            nonlocal effect
            entry = entry_of(document, stream)
            effect = entry_after_verb(entry, verb, reported=reported, only_failed=only_failed)
            return document if effect.entry == entry else with_entry(document, effect.entry)

        action = AuditAction(f"{verb.value}_stream")
        document = self._writer.change(identifier, change, action=action, stream=stream)
        if effect is None:  # a request with a name that was made before
            return AppliedVerb(document=document, message=REPEATED)
        assert effect.entry.spec == document.streams[stream].spec, "a verb changes no definition"
        return AppliedVerb(document=document, message=effect.message)

    def apply_verbs(
        self,
        identifier: str,
        verb: Verb,
        reported: Mapping[str, StreamState | None],
        *,
        only_failed: bool = False,
    ) -> dict[str, str | RegistryError]:
        """Change the desired states of several streams of a table at once.

        Args:
            identifier: `<database>.<table>`.
            verb: The verb; `entry_after_verb` has the rules.
            reported: The streams, each with the state that a living runner reports; None: no runner has it.
            only_failed: Restart only streams that have failed or wait for another attempt.

        Returns:
            By stream, what was done, or why the verb is refused for it; the other streams are changed.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        effects: dict[str, str | RegistryError] = {}

        def change(document: TableDocument) -> TableDocument:
            nonlocal effects
            changed, effects = after_verbs(document, verb, reported, only_failed=only_failed)
            return changed

        action = AuditAction(f"{verb.value}_stream")
        stream = next(iter(reported)) if len(reported) == 1 else None
        self._writer.change(identifier, change, action=action, stream=stream)
        # Without effects: a request with a name that was made before.
        return effects or dict.fromkeys(reported, REPEATED)

    def plan_verb(
        self,
        identifier: str,
        stream: str,
        verb: Verb,
        *,
        reported: StreamState | None = None,
        only_failed: bool = False,
    ) -> PlannedChange:
        """Return what `apply_verb` would do, or why it would refuse; changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
        """
        planned = self.plan_verbs(identifier, verb, {stream: reported}, only_failed=only_failed)
        effect = planned[stream]
        if isinstance(effect, StreamNotFound):
            raise effect
        if isinstance(effect, RegistryError):
            return refused_change(effect, field="verb")
        return PlannedChange(effects=(f"{stream}: {effect}",))

    def plan_verbs(
        self,
        identifier: str,
        verb: Verb,
        reported: Mapping[str, StreamState | None],
        *,
        only_failed: bool = False,
    ) -> dict[str, str | RegistryError]:
        """Return what `apply_verbs` would return; changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
        """
        document = self.document(identifier)
        check_features(document)
        return after_verbs(document, verb, reported, only_failed=only_failed)[1]

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

    def _admitted(
        self,
        document: TableDocument,
        name: str,
        definition: StreamDefinition,
        table: Table | None,
    ) -> StreamSpec:
        """Return the completed definition of a stream, with which the required tests of its table do not fail."""
        found = document.streams.get(name)
        spec = self._streams.admit(document, name, definition, table=table)
        if found is None or found.spec != spec:
            self._tested(with_entry(document, StreamEntry(spec=spec)), is_of_request=False)
        return spec
