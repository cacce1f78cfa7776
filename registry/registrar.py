"""Registers tables and streams: checks, then one exclusive write; who loses a race checks again.

A change is a function from the newest document to the next one. It runs on a fresh document
every time, so that a rule across streams is checked on exactly the document that the change is
made to: a race cannot break it.

A table is created in the warehouse before its document is written. A crash in between leaves a
table without a document, which the repeated request finds and takes; the other order would leave
a document that promises a table which is not there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from formats.kafka_clusters import KafkaClusters
from lake import Catalog, Clock, Table, TableNotFound
from registry.alteration.redeclaration import declared_differences, with_row_rules
from registry.alteration.table_alterer import TableAlterer
from registry.errors import (
    DefinitionDiffers,
    DefinitionRefused,
    RegistryConflict,
    StreamNotStopped,
)
from registry.layout.physical_table import PhysicalTable, physical_table
from registry.rules.kafka_rules import check_kafka
from registry.rules.stream_bounds import check_bounds
from registry.rules.stream_completion import complete_stream
from registry.rules.stream_rules import check_stream
from registry.rules.table_rules import check_table
from registry.rules.takeover import (
    check_takeover,
    fence_streams,
    former_owners,
    is_start_given,
    new_entry,
)
from registry.store.document_writer import (
    ATTEMPTS,
    DocumentWriter,
    check_storable,
    too_many_conflicts,
)
from registry.store.documents import RegistryStore
from registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from registry.store.versions import Versioned
from registry.stream_entries import Verb, VerbEffect, entry_after_verb, entry_of, with_entry
from schemas import (
    DesiredState,
    FieldProblem,
    StreamDefinition,
    StreamEntry,
    StreamSpec,
    StreamState,
    TableDocument,
    TableSpec,
)
from schemas.field_problems import display_text, problem_at

# A stream's offsets in the table belong to its topic, and what it has written to its group.
_FIXED_ONCE_STARTED = ("topic", "sequence_group")
_SAY_WHERE = (
    "a former stream of this name read that; say where this one starts (`starting_offsets`: "
    "`earliest`, `latest`), or choose another name"
)
_DELETE_FIRST = "stop and delete this stream, and register it anew with `starting_offsets`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What is registered after a request.

    Attributes:
        document: The newest document.
        is_new: Whether this request made the table or stream.
    """

    document: TableDocument
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedVerb:
    """What has come of a verb.

    Attributes:
        document: The newest document.
        message: What was done, or why there was nothing to do.
    """

    document: TableDocument
    message: str


class Registrar(TableAlterer):
    """Reads and changes what is registered in one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        catalog: Catalog,
        clock: Clock,
        *,
        clusters: KafkaClusters | None = None,
    ) -> None:
        """Make a registrar.

        Args:
            store: The documents.
            catalog: The tables.
            clock: The time.
            clusters: What streams may name; None: nothing but the runners' cluster `default`.
        """
        super().__init__(DocumentWriter(store, catalog), catalog)
        self._store = store
        self._clock = clock
        self._leases = store.leases()
        self._new_names = store.new_names()
        self._clusters = clusters or KafkaClusters()

    def document(self, identifier: str) -> TableDocument:
        """Return the newest document of a table.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return self._writer.newest(identifier).value

    def entry(self, identifier: str, stream: str) -> StreamEntry:
        """Return a stream and what is wanted of it.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
        """
        return entry_of(self.document(identifier), stream)

    def check_table(self, database: str, name: str, spec: TableSpec) -> list[FieldProblem]:
        """Return why `put_table` would refuse; empty when it would not. Changes nothing."""
        identifier = f"{database}.{name}"
        found = self._store.table(identifier)
        problems = _new_problems(database, name, spec, found)
        if problems:
            return problems
        if found is not None:
            return declared_differences(found.value.table, spec)
        try:
            table = self._catalog.table(identifier)
        except TableNotFound:
            return list(self._names_alike(identifier))
        return [] if _fits(table, physical_table(spec)) else [_unregistered_other(identifier)]

    def put_table(
        self,
        database: str,
        name: str,
        spec: TableSpec,
        *,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Registration:
        """Create a table, or find the one that was declared alike.

        When a row is stale or complete may be declared otherwise than before: that says how rows
        are told, and changes none. Everything else is changed by `alter`.

        Raises:
            DefinitionRefused: The declaration breaks rules; `problems` has all of them.
            DefinitionDiffers: There is a table of that name, declared otherwise.
            PreconditionFailed: What the caller has seen is not what is there.
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
                document = self._writer.change(
                    identifier, lambda newest: with_row_rules(newest, spec, precondition)
                )
                return Registration(document=document, is_new=False)
            document = TableDocument(
                database=database, name=name, table=spec, created_ms=self._clock.now_ms()
            )
            check_storable(document)
            with self._new_names.announced(identifier):
                self._check_case(identifier)
                self._create_in_warehouse(identifier, physical_table(spec))
                try:
                    self._store.put_table(document, expected_version=None)
                except RegistryConflict:
                    continue
            return Registration(document=document, is_new=True)
        raise too_many_conflicts(identifier)

    def record_buckets(self, identifier: str, buckets: int) -> TableDocument:
        """Write down the bucket count that a rescale has given a table.

        From then on the table is declared with it. Its streams go on.

        Raises:
            TableNotFound: No table of that name is registered.
        """

        def change(document: TableDocument) -> TableDocument:
            spec = document.table.model_copy(update={"buckets": buckets})
            return document.model_copy(update={"table": spec})

        return self._writer.change(identifier, change)

    def check_stream(
        self, identifier: str, name: str, definition: StreamDefinition
    ) -> list[FieldProblem]:
        """Return why `put_stream` would refuse; empty when it would not. Changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        document = self.document(identifier)
        try:
            self._admit(document, name, definition)
        except (DefinitionRefused, DefinitionDiffers) as error:
            return list(error.problems)
        return []

    def put_stream(
        self,
        identifier: str,
        name: str,
        definition: StreamDefinition,
        *,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Registration:
        """Register a stream, or change it; the runner of a changed one follows.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: The definition breaks rules; `problems` has all of them.
            DefinitionDiffers: The table holds offsets of this stream, and the change would make
                them those of another topic or group.
            StreamNotStopped: A runner still holds a stream whose group this one takes over.
            PreconditionFailed: What the caller has seen is not what is there.
        """
        is_new = False

        def change(document: TableDocument) -> TableDocument:
            nonlocal is_new
            found = document.streams.get(name)
            is_new = found is None
            precondition.check(None if found is None else revision_of(found))
            spec = self._admit(document, name, definition)
            if found is None:
                table = self._catalog.table(identifier)
                former = former_owners(document, table, spec)
                fence_streams(self._catalog, self._leases, identifier, former)
                return with_entry(document, new_entry(table, spec, definition))
            if found.spec == spec:
                return document
            # A new version: its runner follows, and starts the query anew only if it has to.
            entry = found.model_copy(update={"spec": spec, "version": found.version + 1})
            return with_entry(document, entry)

        return Registration(document=self._writer.change(identifier, change), is_new=is_new)

    def delete_stream(
        self, identifier: str, stream: str, *, precondition: Precondition = NO_PRECONDITION
    ) -> None:
        """Forget a stream, so that another may own its group.

        What it has written stays, and so does its position in the table: a stream of the same
        name and topic goes on there, unless another one has written its group by then and the
        request says where to start.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            StreamNotStopped: It is wanted to run or to be paused, or a runner still holds it.
            PreconditionFailed: What the caller has seen is not what is there.
            LakeError: The end of its epoch cannot be committed; the same call again.
        """

        def change(document: TableDocument) -> TableDocument:
            entry = entry_of(document, stream)
            precondition.check(revision_of(entry))
            if entry.desired_state is not DesiredState.STOPPED:
                wanted = entry.desired_state.value
                message = (
                    f"the stream {stream} of {identifier} is wanted {wanted}\n"
                    "hint: stop it, and wait until its runner has let it go"
                )
                raise StreamNotStopped(message)
            # First the end, then the word of it: a runner that is held up cannot commit afterwards.
            fence_streams(self._catalog, self._leases, identifier, (stream,))
            streams = {name: other for name, other in document.streams.items() if name != stream}
            return document.model_copy(update={"streams": streams})

        self._writer.change(identifier, change)

    def apply_verb(
        self, identifier: str, stream: str, verb: Verb, *, seen: StreamState | None = None
    ) -> AppliedVerb:
        """Write down what is wanted of a stream; its runner follows. the rules are those of `entry_after_verb`.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            verb: What is asked.
            seen: What a living runner reports of it; None: no runner has it.

        Raises:
            TableNotFound: No table of that name is registered.
            StreamNotFound: The table has no such stream.
            StreamNotRunning: As `entry_after_verb`.
        """
        effect: VerbEffect | None = None

        def change(document: TableDocument) -> TableDocument:
            nonlocal effect
            entry = entry_of(document, stream)
            effect = entry_after_verb(entry, verb, seen=seen)
            return document if effect.entry == entry else with_entry(document, effect.entry)

        document = self._writer.change(identifier, change)
        assert effect is not None, "a change is computed before it is written"
        return AppliedVerb(document=document, message=effect.message)

    def _admit(
        self, document: TableDocument, name: str, definition: StreamDefinition
    ) -> StreamSpec:
        problems = _check_given_name(name, definition)
        streams = {other: entry.spec for other, entry in document.streams.items()}
        spec = complete_stream(document.table, definition, name=name, known=streams.get(name))
        # What is stored is not asked again when its table changes: the operators' file may have
        # changed since, and it is the runner that keeps to it then.
        problems += check_kafka(spec, self._clusters)
        problems += check_bounds(spec)
        problems += check_stream(document.table, streams, spec)
        if name not in streams and not problems:
            former = former_owners(document, self._catalog.table(document.identifier), spec)
            problems += check_takeover(document, spec, definition, former)
        if problems:
            message = f"the stream {name} cannot be registered on {document.identifier}"
            raise DefinitionRefused(message, problems=problems)
        old = streams.get(name)
        if old is not None or not is_start_given(definition):
            self._check_change(document.identifier, old, spec)
        return spec

    def _check_change(self, identifier: str, old: StreamSpec | None, new: StreamSpec) -> None:
        """Refuse what the position that the table holds would be wrong for."""
        if old is not None and all(
            getattr(old, field) == getattr(new, field) for field in _FIXED_ONCE_STARTED
        ):
            return
        position = self._catalog.table(identifier).committer().stream_positions().get(new.name)
        if position is None or not position.topic:  # it was deleted before it read anything
            return
        before = {"topic": position.topic}
        if old is not None:
            before |= {field: getattr(old, field) for field in _FIXED_ONCE_STARTED}
        problems = [
            problem_at(
                field,
                value=getattr(new, field),
                message=f"is `{display_text(value)}`, and the table holds what was read so far",
                hint=_DELETE_FIRST if old is not None else _SAY_WHERE,
            )
            for field, value in before.items()
            if getattr(new, field) != value
        ]
        if problems:
            message = f"the stream {new.name} of {identifier} cannot become this"
            raise DefinitionDiffers(message, kind="stream", problems=problems)

    def _check_case(self, identifier: str) -> None:
        problems = list(self._names_alike(identifier))
        if problems:
            message = f"the table {identifier} cannot be created"
            raise DefinitionRefused(message, problems=problems)

    def _names_alike(self, identifier: str) -> Iterator[FieldProblem]:
        """Yield the database or table that a new table's name differs from in case only."""
        database, _, name = identifier.partition(".")
        # What is announced first: it may be created, and no longer announced, a moment later.
        known = {
            *self._new_names.identifiers(),
            *self._store.identifiers(),
            *self._catalog.list_tables(database),
        }
        for other in sorted(known):
            other_database, _, other_name = other.partition(".")
            if other_database != database and other_database.lower() == database.lower():
                yield _alike("database", database, other_database)
                return
            if other != identifier and other.lower() == identifier.lower():
                yield _alike("table", name, other_name)
                return

    def _create_in_warehouse(self, identifier: str, definition: PhysicalTable) -> None:
        table = self._catalog.create_table(
            identifier,
            columns=definition.columns,
            primary_key=definition.primary_key,
            partition_keys=definition.partition_keys,
            options=definition.options,
            comment=definition.comment,
            if_not_exists=True,
        )
        if not _fits(table, definition):
            problem = _unregistered_other(identifier)
            raise DefinitionDiffers(problem.message, kind="table", problems=[problem])


def _new_problems(
    database: str, name: str, spec: TableSpec, registered: Versioned[TableDocument] | None
) -> list[FieldProblem]:
    """Return what is wrong with a declaration, unless a registered table has been so all along."""
    problems = check_table(database, name, spec)
    if problems and registered is not None:
        known = set(check_table(database, name, registered.value.table))
        return [problem for problem in problems if problem not in known]
    return problems


def _alike(field: str, name: str, other: str) -> FieldProblem:
    return problem_at(
        field,
        value=name,
        message=f"differs from the {field} `{other}` in case only",
        hint="readers that fold case could not tell them apart; choose another name",
    )


def _check_given_name(name: str, definition: StreamDefinition) -> list[FieldProblem]:
    if definition.name in (None, name):
        return []
    hint = f"leave it out, or write `{name}`"
    message = f"the address says `{name}`"
    return [problem_at("name", value=definition.name, message=message, hint=hint)]


def _fits(table: Table, definition: PhysicalTable) -> bool:
    schema = table.schema
    columns = [(field.name, field.type) for field in schema.fields]
    return (
        columns == [(field.name, field.type) for field in definition.columns]
        and schema.primary_keys == definition.primary_key
        and schema.partition_keys == definition.partition_keys
        and all(schema.options.get(key) == value for key, value in definition.options.items())
    )


def _unregistered_other(identifier: str) -> FieldProblem:
    return problem_at(
        "table",
        value=identifier,
        message="the warehouse has a table of this name that is not registered, with other "
        "columns, keys or options",
        hint="declare it as it is, or choose another name",
    )
