"""Reader of the undeclared fields of one message, and of values that do not fit their columns: what the table needs for them.

An undeclared field is looked for in two places: in every object of the message from which the stream reads a declared field,
and in every ROW of the stream's columns, at any depth. Fields in other places are ignored. Also ignored are fields that
another stream of the table reads from the same topic, and fields that a condition or an expression uses. `read` ignores
fields that are null, because a null has no type and nothing is lost without a column for it; `undeclared` lists fields that
are null.

A message with a field that cannot become a column, or with a value that no permitted wider type of its column holds, is
refused as a whole (`UnrepresentableFieldError`).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NoReturn

from braid.formats.field_tree import FieldTree, field_tree
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.nested_times import NESTED, text_type
from braid.formats.mapping.times_reader import is_time
from braid.lake import DataType, TypeRoot
from braid.records.new_fields.schema_delta import FieldPath, SchemaDelta
from braid.records.new_fields.value_shape import Kind, Shape, join_all, shape_of
from braid.records.new_fields.wider_type import is_fitting, is_widened_by, widened
from braid.records.stream_plan import StreamPlan
from braid.registry.names import check_column_name

_SHOWN_MAX: Final = 200


class UnrepresentableFieldError(Exception):
    """A message has a field, or a value of a column, that no permitted change of the table could hold."""


@dataclass(frozen=True, kw_only=True)
class UndeclaredFieldReader:
    """Reads undeclared fields from the messages of one stream.

    Attributes:
        plan: The stream.
        taken: Names that columns of the table have.
        refused: Why a field or a column stays as it is, by the field's address or the column's name.
        is_last: Whether this is the last round, in which every new field and wider type is refused.
    """

    plan: StreamPlan
    taken: Collection[str] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    is_last: bool = False

    def undeclared(self, message: Any) -> list[str]:
        """Return the addresses of the fields that are not declared, nulls included."""
        found = [".".join(path) for path, _ in self._beside((), self.tree, message)]
        for column in self.plan.field_columns:
            value = value_at(message, column.path)
            found += _undeclared_in(value, column.type, (*column.path,))
        return list(dict.fromkeys(found))

    def read(self, message: Any) -> SchemaDelta:
        """Return what the table needs before the message can be written.

        Args:
            message: A message as dicts, lists and scalars (`MessageReader.tree`).

        Raises:
            UnrepresentableFieldError: The message has a field, or a value of a column, that no permitted change
                of the table could hold; the error names it.
        """
        # All checks come before the delta is returned: one field without a column refuses the record, and
        # then nothing of it may change the table.
        return SchemaDelta(new=self.beside(message).new, wider=self.wider(message))

    def beside(self, message: Any, told: Collection[FieldPath] = ()) -> SchemaDelta:
        """Return the new columns for the values of a message.

        Args:
            message: A message as `read` takes it.
            told: Fields whose type is known from elsewhere; they are left out.

        Raises:
            UnrepresentableFieldError: As `read`.
        """
        new = {
            path: shape_of(value)
            for path, value in self._beside((), self.tree, message)
            if value is not None and path not in told
        }
        for path in new:
            self.check_new(path)
        return SchemaDelta(new=new)

    def wider(self, message: Any, *, finds_fields: bool = True) -> dict[str, Shape]:
        """Return the columns that need a wider type for the values of a message.

        Args:
            message: A message as `read` takes it.
            finds_fields: Whether fields that a ROW lacks are new fields; else they are ignored.

        Raises:
            UnrepresentableFieldError: As `read`.
        """
        found = {}
        for column in self.plan.field_columns:
            value, data_type = value_at(message, column.path), column.type
            if column.time_format is not None:
                if not is_time(value, column):
                    _refuse_column(column.address, "its value is not of the column's time format")
                if column.type.root not in NESTED:
                    continue
                data_type = text_type(data_type)
            shape = _excess(value, data_type, column.address, finds_fields=finds_fields)
            if shape is not None:
                self.check_wider(column)
                found[column.name] = shape
        return found

    @cached_property
    def tree(self) -> FieldTree:
        """The fields that are declared."""
        return field_tree(self.plan.field_columns, self.plan.paths_of_other_streams)

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        return {name.lower(): name for name in self.taken}

    def _beside(
        self, path: FieldPath, tree: FieldTree, value: Any
    ) -> Iterator[tuple[FieldPath, Any]]:
        """Yield the unknown fields of objects in which the stream reads a field."""
        if not isinstance(value, dict):
            return
        if tree.has_columns:
            for name, item in value.items():
                if name not in tree.names:
                    yield (*path, name), item
        for name, inner in tree.objects.items():
            yield from self._beside((*path, name), inner, value.get(name))

    def check_new(self, path: FieldPath) -> None:
        """Check that a field can become a column.

        Raises:
            UnrepresentableFieldError: It cannot.
        """
        address, name = ".".join(path), path[-1]
        reason = self._refusal(address)
        if reason is not None:
            refuse_field(address, reason)
        problem = next(check_column_name(name), None)
        if problem is not None:
            refuse_field(address, f"it cannot be a column: {problem.message}")
        # Other engines fold the case of names, so two columns never differ in case alone.
        known = self._folded.get(name.lower())
        if known is not None:
            refuse_field(address, name_taken(known))

    def check_wider(self, column: MappedColumn) -> None:
        """Check that a column can get a wider type.

        Raises:
            UnrepresentableFieldError: It cannot.
        """
        reason = self._refusal(column.name)
        if reason is not None:
            _refuse_column(column.address, reason)
        # The bucket of a row is a hash of its key's binary form, which a wider type changes.
        if column.name in self.plan.written.key:
            _refuse_column(column.address, "the type of a key column cannot change")
        # An expression was checked for the types of its fields.
        if column.name in self.plan.columns_in_expressions:
            _refuse_column(column.address, "an expression of the stream uses it")

    def _refusal(self, key: str) -> str | None:
        reason = self.refused.get(key)
        if reason is None and self.is_last:
            return "too many new fields came at once"
        return reason


def name_taken(column: str) -> str:
    """Return why a field does not become a column: the table has a column of its name, perhaps in another case."""
    return (
        f"the table already has a column {column}, and the stream does not fill it from this field"
    )


def value_at(message: Any, path: FieldPath) -> Any:
    """Return the value at a path through objects; None where there is none."""
    value = message
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _undeclared_in(value: Any, data_type: DataType, path: FieldPath) -> Iterator[str]:
    if data_type.root is TypeRoot.ROW and isinstance(value, dict):
        types = {inner.name: inner.type for inner in data_type.fields}
        for name, item in value.items():
            if name not in types:
                yield ".".join((*path, name))
            else:
                yield from _undeclared_in(item, types[name], (*path, name))
    for item, item_type in held(value, data_type):
        yield from _undeclared_in(item, item_type, path)


def held(value: Any, data_type: DataType) -> Iterator[tuple[Any, DataType]]:
    """Yield the items of an ARRAY, or the values of a MAP."""
    if data_type.element is not None and isinstance(value, list):
        for item in value:
            yield item, data_type.element
    if data_type.value is not None and isinstance(value, dict):
        for item in value.values():
            yield item, data_type.value


def _excess(value: Any, data_type: DataType, address: str, *, finds_fields: bool) -> Shape | None:
    """Return the part of a value that its type does not hold; None when the type holds everything.

    Raises:
        UnrepresentableFieldError: No other type that the column could get would hold the value either.
    """
    if value is None:
        return None
    if data_type.root is TypeRoot.ROW:
        return _excess_of_row(value, data_type, address, finds_fields=finds_fields)
    if data_type.root in (TypeRoot.ARRAY, TypeRoot.MAP):
        return _excess_of_items(value, data_type, address, finds_fields=finds_fields)
    if is_fitting(value, data_type):
        return None
    shape = shape_of(value)
    if not is_widened_by(value, data_type) or widened(data_type, shape) is None:
        _refuse_column(address, f"its value fits no type that {data_type} can be widened to")
    return shape


def _excess_of_items(
    value: Any, data_type: DataType, address: str, *, finds_fields: bool
) -> Shape | None:
    is_array = data_type.root is TypeRoot.ARRAY
    if not isinstance(value, list if is_array else dict):
        _refuse_column(address, f"its value is not of type {data_type}")
    found = [
        shape
        for item, item_type in held(value, data_type)
        if (shape := _excess(item, item_type, address, finds_fields=finds_fields)) is not None
    ]
    kind = Kind.LIST if is_array else Kind.MAP
    return Shape(kind=kind, item=join_all(found)) if found else None


def _excess_of_row(
    value: Any, data_type: DataType, address: str, *, finds_fields: bool
) -> Shape | None:
    if not isinstance(value, dict):
        _refuse_column(address, f"its value is not of type {data_type}")
    types = {inner.name: inner.type for inner in data_type.fields}
    folded = {name.lower(): name for name in types}
    found = []
    for name, item in value.items():
        here = f"{address}.{name}"
        if name in types:
            shape = _excess(item, types[name], here, finds_fields=finds_fields)
        elif not finds_fields:
            shape = None
        else:
            shape = None if item is None else shape_of(item)
            if shape is not None:
                check_inner_name(name, folded, here)
        if shape is not None:
            found.append((name, shape))
    return Shape(kind=Kind.OBJECT, fields=tuple(found)) if found else None


def check_inner_name(name: str, folded: Mapping[str, str], address: str) -> None:
    """Check that a field can be added to a ROW.

    Args:
        name: The name of the field.
        folded: The names of the ROW's fields, by their lower-case forms.
        address: The field's place in the message.

    Raises:
        UnrepresentableFieldError: It cannot.
    """
    problem = next(check_column_name(name), None)
    if problem is not None:
        refuse_field(address, f"it cannot be a field of a column: {problem.message}")
    if name.lower() in folded:
        refuse_field(address, f"it differs from the field {folded[name.lower()]} in case only")


def refuse_field(address: str, why: str) -> NoReturn:
    """Raise the error for a field that stays out."""
    message = f"field {address[:_SHOWN_MAX]} is not declared and stays out: {why}"
    raise UnrepresentableFieldError(message)


def _refuse_column(address: str, why: str) -> NoReturn:
    message = f"column {address[:_SHOWN_MAX]} stays as it is: {why}"
    raise UnrepresentableFieldError(message)
