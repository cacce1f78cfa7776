"""A registered table during the changes of a request, which are applied one after another; refusals of single changes.

Pure: each change returns another value. The changes themselves are in `table_changes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from braid.lake import SchemaChange
from braid.registry.alteration.alteration import Alteration
from braid.registry.alteration.change_locations import Origin
from braid.registry.layout.physical_table import physical_groups
from braid.schemas import (
    ColumnSpec,
    SequenceGroupSpec,
    StreamColumn,
    StreamEntry,
    TableChange,
    TableDocument,
    TableSpec,
)
from braid.schemas.field_problems import quoted_list
from braid.schemas.problem import JsonPath


class RefusedChange(Exception):
    """A change names something that does not exist, or cannot be made."""

    def __init__(self, part: str, value: object, message: str, hint: str) -> None:
        super().__init__(message)
        self.path: JsonPath = (part,) if part else ()
        self.problem: dict[str, Any] = {"value": value, "message": message, "hint": hint}


def refuse(part: str, value: object, message: str, hint: str) -> NoReturn:
    """Refuse the current change.

    Args:
        part: The field of the change that is wrong; empty for the change as a whole.
        value: What was found there.
        message: What is wrong with it.
        hint: How to fix it.

    Raises:
        RefusedChange: Always.
    """
    raise RefusedChange(part, value, message, hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredTable:
    """A table after some of the changes.

    Attributes:
        document: The document with the declaration and the streams after these changes.
        engine: The engine's changes, in order.
        of_engine: For each of the engine's changes, the index of the requested change.
        of_column: Index of the last requested change of a column, by its name after these changes.
        of_group: Index of the last requested change of a sequence group, by the group's name.
        of_option: Index of the last requested change of an option, by the option's key.
    """

    document: TableDocument
    engine: tuple[SchemaChange, ...] = ()
    of_engine: tuple[int, ...] = ()
    of_column: Mapping[str, int] = field(default_factory=dict)
    of_group: Mapping[str, int] = field(default_factory=dict)
    of_option: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, document: TableDocument) -> "AlteredTable":
        """Return a table before any change."""
        return cls(document=document)

    @property
    def spec(self) -> TableSpec:
        """The declaration."""
        return self.document.table

    @property
    def streams(self) -> Mapping[str, StreamEntry]:
        """The streams by name."""
        return self.document.streams

    def alteration(self, requested: Sequence[TableChange]) -> Alteration:
        """Return the whole change, to be checked.

        Args:
            requested: The changes of the request.
        """
        assert len(self.of_engine) == len(self.engine)
        origin = Origin(
            requested=tuple(requested),
            of_engine=self.of_engine,
            of_column=self.of_column,
            of_group=self.of_group,
            of_option=self.of_option,
        )
        return Alteration(document=self.document, changes=self.engine, origin=origin)

    def column(self, name: str) -> ColumnSpec:
        """Return a declared column.

        Raises:
            RefusedChange: There is none.
        """
        found = next((column for column in self.spec.columns if column.name == name), None)
        if found is not None:
            return found
        hint = f"columns: {quoted_list(self.spec.column_names)}"
        for group in physical_groups(self.spec):
            if name in group.generated_columns:
                message = f"this column is generated for the sequence group `{group.name}`"
                refuse("column", name, message, hint)
        refuse("column", name, "no such column", hint)

    def group(self, name: str) -> SequenceGroupSpec:
        """Return a sequence group.

        Raises:
            RefusedChange: There is none.
        """
        found = self.spec.sequence_group(name)
        if found is None:
            known = quoted_list(group.name for group in self.spec.sequence_groups)
            refuse("sequence_group", name, "no such sequence group", f"sequence groups: {known}")
        return found

    def owner_of(self, group: str) -> str | None:
        """Return the stream that owns a group; None when the group has no owner."""
        owners = (n for n, entry in self.streams.items() if entry.spec.sequence_group == group)
        return next(owners, None)

    def with_change(self, change: SchemaChange, index: int) -> "AlteredTable":
        """Return the table with one more change for the engine.

        Args:
            change: The engine's change.
            index: The index of the requested change.
        """
        return replace(self, engine=(*self.engine, change), of_engine=(*self.of_engine, index))

    def with_origin(
        self,
        index: int,
        *,
        column: str | None = None,
        group: str | None = None,
        option: str | None = None,
    ) -> "AlteredTable":
        """Return the table with a requested change noted as the origin of a column, a group or an option.

        Args:
            index: The index of the requested change.
            column: A column by its new name.
            group: A sequence group.
            option: An option's key.
        """
        return replace(
            self,
            of_column=self.of_column if column is None else {**self.of_column, column: index},
            of_group=self.of_group if group is None else {**self.of_group, group: index},
            of_option=self.of_option if option is None else {**self.of_option, option: index},
        )

    def with_spec(self, spec: TableSpec) -> "AlteredTable":
        """Return the table with another declaration."""
        return replace(self, document=self.document.model_copy(update={"table": spec}))

    def with_options(self, options: Mapping[str, str]) -> "AlteredTable":
        """Return the table with other declared options."""
        return self.with_spec(self.spec.model_copy(update={"options": dict(options)}))

    def with_column(self, name: str, index: int, **update: object) -> "AlteredTable":
        """Return the table with another declaration of a column.

        Args:
            name: The column's name.
            index: The index of the requested change.
            **update: Fields of the column's declaration.
        """
        columns = tuple(
            column.model_copy(update=update) if column.name == name else column
            for column in self.spec.columns
        )
        spec = self.spec.model_copy(update={"columns": columns})
        return self.with_spec(spec).with_origin(index, column=name)

    def with_group(self, group: SequenceGroupSpec) -> "AlteredTable":
        """Return the table with another declaration of the group of that name."""
        groups = tuple(
            group if one.name == group.name else one for one in self.spec.sequence_groups
        )
        return self.with_spec(self.spec.model_copy(update={"sequence_groups": groups}))

    def with_mappings(self, stream: str, columns: tuple[StreamColumn, ...]) -> "AlteredTable":
        """Return the table with other mapped columns of a stream."""
        entry = self.streams[stream]
        spec = entry.spec.model_copy(update={"columns": columns})
        streams = {**self.streams, stream: entry.model_copy(update={"spec": spec})}
        return replace(self, document=self.document.model_copy(update={"streams": streams}))

    def renamed(self, old: str, new: str, spec: TableSpec) -> "AlteredTable":
        """Return the table with a renamed column; streams read it from the same field as before, but those from Spark.

        Programs write columns by the names that the table has.

        Args:
            old: The column's name so far.
            new: The column's name from now on.
            spec: The declaration with the new name.
        """
        altered = self.with_spec(spec)
        assert new in spec.column_names, "the declaration has the new name"
        for name, entry in self.streams.items():
            if old in entry.spec.column_names:
                has_fields = not entry.spec.is_from_spark
                columns = tuple(
                    _renamed(one, old, new, has_fields=has_fields) for one in entry.spec.columns
                )
                altered = altered.with_mappings(name, columns)
        # The old name is free: a later change may add another column of that name.
        kept = {column: index for column, index in altered.of_column.items() if column != old}
        return replace(altered, of_column=kept)


def _renamed(mapping: StreamColumn, old: str, new: str, *, has_fields: bool) -> StreamColumn:
    if mapping.column != old:
        return mapping
    renamed = mapping.model_copy(update={"column": new})
    if not (has_fields and mapping.source.has_names):
        return renamed
    # A mapping without a path reads the field or header of the column's name, which is the old one in records.
    return renamed.model_copy(update={"path": mapping.path or old})
