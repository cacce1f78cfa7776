"""Import of declarations: each table and stream is registered, left as it is, or changed if that is wanted.

The registrar plans and makes each change, so the rules are those of single registrations. A dry run only plans. Later
declarations are then checked against the planned documents, so that streams of a table that does not exist yet can be checked.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from braid.lake import LakeError, TableNotFound
from braid.registry.effects import NOTHING
from braid.registry.errors import DefinitionDiffers, FeaturesMissing
from braid.registry.registrar import Registrar
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.revision import NO_PRECONDITION, Precondition
from braid.schemas import (
    DesiredState,
    FieldProblem,
    StreamDefinition,
    StreamSpec,
    TableDocument,
    TableSpec,
)
from braid.schemas.declaration_transfer import ImportAction
from braid.schemas.field_problems import display_text, problem_at

_IS_NEW: Final = Precondition(exists=False)
_HINT: Final = "the registered declaration stays as it is, unless the request has `replace: true`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportStep:
    """What the import does with one declaration.

    Attributes:
        action: What it does.
        effects: The effects, one each.
    """

    action: ImportAction
    effects: tuple[str, ...] = (NOTHING,)


@dataclass(slots=True, kw_only=True)
class DeclarationImporter:
    """Imports declarations, tables before their streams.

    Attributes:
        registrar: Plans and makes the changes.
        replaces: Whether what is registered with another declaration is changed.
        is_dry_run: Whether nothing is changed.
    """

    registrar: Registrar
    replaces: bool
    is_dry_run: bool
    _documents: dict[str, TableDocument] = field(default_factory=dict)
    """Documents of tables as they are after the steps so far."""

    def action_for(self, identifier: str, stream: str | None) -> ImportAction:
        """Return what is done with a declaration that differs from the registered one.

        Args:
            identifier: `<database>.<table>`.
            stream: Name of a stream; None: the declaration is that of the table.

        Raises:
            StorageUnavailable: Storage does not answer.
        """
        try:
            document = self._document(identifier)
        except (LakeError, FeaturesMissing) as error:
            if isinstance(error, LakeError) and error.retryable:
                raise
            # A table whose document cannot be read is registered; what streams it has is not known.
            return ImportAction.CHANGE
        is_known = document is not None and (stream is None or stream in document.streams)
        return ImportAction.CHANGE if is_known else ImportAction.CREATE

    def import_table(self, identifier: str, spec: TableSpec) -> ImportStep:
        """Import the declaration of a table.

        Raises:
            DefinitionRefused: The declaration breaks rules.
            DefinitionDiffers: A table of that name has another declaration, which stays or cannot be changed to this one.
            PreconditionFailed: Another client has just registered the table.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """
        database, _, name = identifier.partition(".")
        known = self._document(identifier)
        if known is not None:
            if known.table == spec:
                return ImportStep(action=ImportAction.LEAVE)
            self._check_replaces("table", identifier, known.table, spec)
        planned = self.registrar.planned_table(database, name, spec)
        document = planned.document
        if not self.is_dry_run:
            condition = _IS_NEW if known is None else NO_PRECONDITION
            made = self.registrar.put_table(database, name, spec, precondition=condition)
            document = made.document
        self._documents[identifier] = document
        action = ImportAction.CREATE if known is None else ImportAction.CHANGE
        return ImportStep(action=action, effects=planned.effects)

    def import_stream(
        self,
        identifier: str,
        name: str,
        definition: StreamDefinition,
        *,
        initial_state: DesiredState,
    ) -> ImportStep:
        """Import the declaration of a stream.

        Args:
            identifier: `<database>.<table>`.
            name: The stream's name.
            definition: The declaration.
            initial_state: The desired state of a stream that is new.

        Raises:
            TableNotFound: No table of that name is registered, or planned.
            DefinitionRefused, DefinitionDiffers, StreamNotStopped: As by `Registrar.put_stream`; `DefinitionDiffers` also if a
                stream of that name has another declaration, which stays.
            PreconditionFailed: Another client has just registered the stream.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """
        document = self._document(identifier)
        if document is None:
            message = f"no table {identifier} is registered, and the request declares none"
            raise TableNotFound(message)
        known = document.streams.get(name)
        if known is not None:
            wanted = complete_stream(document.table, definition, name=name, known=known.spec)
            if wanted == known.spec:
                return ImportStep(action=ImportAction.LEAVE)
            self._check_replaces("stream", f"{identifier}/{name}", known.spec, wanted)
        planned = self.registrar.plan_stream(
            document, name, definition, initial_state=initial_state
        )
        document = planned.document
        if not self.is_dry_run:
            made = self.registrar.put_stream(
                identifier,
                name,
                definition,
                initial_state=initial_state,
                precondition=_IS_NEW if known is None else NO_PRECONDITION,
            )
            document = made.document
        self._documents[identifier] = document
        action = ImportAction.CREATE if known is None else ImportAction.CHANGE
        return ImportStep(action=action, effects=planned.effects)

    def _document(self, identifier: str) -> TableDocument | None:
        if identifier not in self._documents:
            with suppress(TableNotFound):
                self._documents[identifier] = self.registrar.document(identifier)
        return self._documents.get(identifier)

    def _check_replaces(
        self,
        kind: str,
        name: str,
        registered: TableSpec | StreamSpec,
        given: TableSpec | StreamSpec,
    ) -> None:
        if not self.replaces:
            message = f"the {kind} {name} is registered with another declaration"
            problems = list(_differences(registered, given))
            raise DefinitionDiffers(message, kind=kind, problems=problems)


def _differences(
    registered: TableSpec | StreamSpec, given: TableSpec | StreamSpec
) -> Iterator[FieldProblem]:
    before, after = registered.model_dump(mode="json"), given.model_dump(mode="json")
    for name, value in after.items():
        if value != before[name]:
            message = f"is registered as `{display_text(before[name])}`"
            yield problem_at(name, value=value, message=message, hint=_HINT)
