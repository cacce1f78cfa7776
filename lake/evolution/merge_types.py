"""Merge of an incoming record type into a table's columns: new fields are added, and types change.

1. Types that differ in nullability alone count as equal; the table's nullability stays everywhere.
2. Fields of a ROW are matched by name. Fields that both have are merged, fields that only the table has stay,
   and fields that only the records have are appended, nullable.
3. ARRAY, MULTISET and MAP are merged in their element, key and value types.
4. Every other type is replaced by the type of the records, if the casting rules allow it. A length
   or precision shrinks only if explicit casts are allowed. Decimals keep their scale and get the
   larger precision. Types that cannot be merged are refused.

Without `MergeRules.type_widening`, the table's types stay instead of rule 4.

Source: merge-semantics 8.1.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, NoReturn

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.evolution.field_ids import number_nested
from braid.lake.format.casts.rules import can_cast
from braid.lake.format.data_types import BYTES_ROOTS, TEXT_ROOTS, DataField, DataType, TypeRoot

_LENGTHS: Final = TEXT_ROOTS | BYTES_ROOTS
_PRECISIONS: Final = frozenset(
    {TypeRoot.DECIMAL, TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """Limits to the changes that incoming types make to the table's types.

    Attributes:
        type_widening: Types may change; if False, fields are added and types stay.
        explicit_casts: Casts that may lose values are allowed, too.
        case_sensitive: Names that differ only in case are names of different fields.
    """

    type_widening: bool = True
    explicit_casts: bool = False
    case_sensitive: bool = True


DEFAULT_RULES: Final = MergeRules()


def merge_fields(
    base: tuple[DataField, ...],
    update: tuple[DataField, ...],
    rules: MergeRules = DEFAULT_RULES,
    *,
    highest_field_id: int,
) -> tuple[tuple[DataField, ...], int]:
    """Return the table's columns with a record type merged into them, and the highest field id.

    Columns keep their order, names, ids and defaults. New columns come last, nullable, in the order of
    the update; each gets its id after the fields inside it. Types of key columns are merged like any
    other; the schema change that follows refuses to change them.

    Args:
        base: The table's columns.
        update: The records' fields; their ids are ignored.
        rules: Which changes are allowed.
        highest_field_id: The highest field id ever used in the table.

    Raises:
        SchemaMismatch: The types of a field in the table and in the records cannot be merged, or the
            records have two fields of one name; `problems` names the field.

    Source:
        merge-semantics 8.1.
    """
    ids = count(highest_field_id + 1)
    merged = _Merger(rules, ids).fields((), base, update)
    return merged, next(ids) - 1


@dataclass(frozen=True, slots=True)
class _Merger:
    rules: MergeRules
    ids: Iterator[int]

    def fields(
        self,
        path: tuple[str, ...],
        base: tuple[DataField, ...],
        update: tuple[DataField, ...],
    ) -> tuple[DataField, ...]:
        fold = self._fold()
        incoming = {fold(field.name): field for field in update}
        if len(incoming) < len(update):
            _refuse_duplicate(path, [fold(field.name) for field in update])
        known = {fold(field.name) for field in base}
        # The table's field stays, name included: only its type is merged with that of the records.
        kept = [
            replace(field, type=self._type((*path, field.name), field.type, found.type))
            if (found := incoming.get(fold(field.name))) is not None
            else field
            for field in base
        ]
        new = [self._numbered(field) for field in update if fold(field.name) not in known]
        return (*kept, *new)

    def _type(self, path: tuple[str, ...], base: DataType, update: DataType) -> DataType:
        if base.with_nullable(True) == update.with_nullable(True):
            return base  # rule 1: not a change, so it is allowed whatever the rules say
        if base.root is update.root and base.is_nested:
            return self._nested(path, base, update)
        if not self.rules.type_widening:
            return base
        return self._atomic(path, base, update).with_nullable(base.nullable)

    def _nested(self, path: tuple[str, ...], base: DataType, update: DataType) -> DataType:
        def part(name: str, one: DataType | None, other: DataType | None) -> DataType | None:
            return one and other and self._type((*path, name), one, other)

        return replace(
            base,
            key=part("key", base.key, update.key),
            value=part("value", base.value, update.value),
            element=part("element", base.element, update.element),
            fields=self.fields(path, base.fields, update.fields),
        )

    def _atomic(self, path: tuple[str, ...], base: DataType, update: DataType) -> DataType:
        explicitly = self.rules.explicit_casts
        both = {base.root, update.root}
        if both == {TypeRoot.DECIMAL}:
            if base.scale != update.scale:
                _refuse(path, base, update, "the scales differ, so digits would be lost")
            return max(base, update, key=lambda type_: type_.precision or 0)
        if not can_cast(
            base.with_nullable(True), update.with_nullable(True), explicitly=explicitly
        ):
            _refuse(path, base, update, "values of the column cannot be cast to the records' type")
        if explicitly:
            return update
        if both <= _LENGTHS and (base.length or 0) > (update.length or 0):
            _refuse(path, base, update, "the records' type is shorter")
        if both <= _PRECISIONS and (base.precision or 0) > (update.precision or 0):
            _refuse(path, base, update, "the records' type is less precise")
        return update

    def _numbered(self, field: DataField) -> DataField:
        nested = number_nested(field.type, self.ids)
        return replace(field, id=next(self.ids), type=nested.with_nullable(True))

    def _fold(self) -> Callable[[str], str]:
        return str if self.rules.case_sensitive else str.lower


def _refuse(path: tuple[str, ...], base: DataType, update: DataType, why: str) -> NoReturn:
    problem = Problem(
        field=".".join(path),
        value=str(update),
        message=f"{why}; the column is {base}",
        hint="alter the column's type first, or send values of its type",
    )
    message = "records do not fit the table's columns"
    raise SchemaMismatch(message, problems=[problem])


def _refuse_duplicate(path: tuple[str, ...], names: list[str]) -> NoReturn:
    name = Counter(names).most_common(1)[0][0]
    problem = Problem(
        field=".".join((*path, name)),
        value=name,
        message="the records have two fields of this name",
    )
    message = "the fields of records must have different names"
    raise SchemaMismatch(message, problems=[problem])
