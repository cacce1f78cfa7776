"""Parser of Avro schemas: each name in a schema's text is replaced by the type that it names, so a recursive type contains itself.

A schema is refused if it is not a record, or if a few bytes of a message could make its reader fill the memory. Properties
that do not change how bytes are read (documentation, defaults, aliases, order) are dropped; the names of Kafka Connect's types
are kept. A logical type that does not fit its underlying type is ignored, as the specification requires.

Source: Apache Avro 1.12 specification, "Schema Declaration", "Logical Types", "Names".
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from braid.formats.avro.names import is_full_name, is_name
from braid.formats.native.column_types import leaf_column_type
from braid.formats.native.kinds import NativeKind
from braid.formats.native.leaf_arrays import Leaf
from braid.lake import DataType

NESTING_MAX: Final = 64
"""Deepest nesting of a schema's text, and of the values of a recursive type."""
EMPTY_VALUES_MAX: Final = 10_000
"""Most values of a message that take no bytes, nested ones counted: nulls, fixed types of size 0, and records of such
values. Counts alone could fill the memory with them."""
_PARTS_MAX: Final = 100_000
_PRECISION_MAX: Final = 10_000  # Python refuses to read longer numbers from text
_UNIT_NS: Final = {"millis": 10**6, "micros": 10**3, "nanos": 1}


class AvroKind(StrEnum):
    """The encoding of a type."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    FIXED = "fixed"
    ENUM = "enum"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    UNION = "union"


_PRIMITIVES: Final = frozenset(list(AvroKind)[:8])
_NAMED: Final = frozenset({AvroKind.RECORD, AvroKind.ENUM, AvroKind.FIXED})
_COMPLEX: Final = frozenset(list(AvroKind)[8:]) - {AvroKind.UNION}
_LOGICAL: Final[Mapping[str, tuple[frozenset[AvroKind], Leaf]]] = {
    "date": (frozenset({AvroKind.INT}), Leaf(NativeKind.DATE)),
    "time-millis": (frozenset({AvroKind.INT}), Leaf(NativeKind.TIME, 10**6)),
    "time-micros": (frozenset({AvroKind.LONG}), Leaf(NativeKind.TIME, 10**3)),
    **{
        f"{name}-{unit}": (frozenset({AvroKind.LONG}), Leaf(NativeKind.MOMENT, size, is_local))
        for name, is_local in (("timestamp", False), ("local-timestamp", True))
        for unit, size in _UNIT_NS.items()
    },
    "uuid": (frozenset({AvroKind.STRING, AvroKind.FIXED}), Leaf(NativeKind.TEXT)),
    "duration": (frozenset({AvroKind.FIXED}), Leaf(NativeKind.UNREADABLE)),
    "decimal": (frozenset({AvroKind.BYTES, AvroKind.FIXED}), Leaf(NativeKind.DECIMAL)),
}
_SIZES: Final = {"uuid": 16, "duration": 12}
_LEAVES: Final[Mapping[AvroKind, Leaf]] = {
    AvroKind.NULL: Leaf(NativeKind.NULL),
    AvroKind.BOOLEAN: Leaf(NativeKind.BOOLEAN),
    AvroKind.INT: Leaf(NativeKind.WHOLE),
    AvroKind.LONG: Leaf(NativeKind.WHOLE),
    AvroKind.FLOAT: Leaf(NativeKind.FLOAT),
    AvroKind.DOUBLE: Leaf(NativeKind.FLOAT),
    AvroKind.BYTES: Leaf(NativeKind.BYTES),
    AvroKind.FIXED: Leaf(NativeKind.BYTES),
    AvroKind.STRING: Leaf(NativeKind.TEXT),
    AvroKind.ENUM: Leaf(NativeKind.TEXT),
}
_PARTS: Final = {
    AvroKind.ARRAY: NativeKind.LIST,
    AvroKind.MAP: NativeKind.MAP,
    AvroKind.RECORD: NativeKind.RECORD,
}


class AvroSchemaError(ValueError):
    """A text is no Avro schema, or none of records."""


@dataclass(slots=True, eq=False)
class AvroType:
    """A type; one that is recursive contains itself.

    Attributes:
        kind: Its encoding.
        leaf: What its values are; None of types with parts.
        precision: Digits, of a decimal.
        scale: Digits after the point, of a decimal.
        size: Bytes of a FIXED.
        symbols: Of an ENUM, by their index.
        item: Of an ARRAY its items, of a MAP its values.
        fields: Of a RECORD, by name, in their order.
        branches: Of a UNION, in their order.
        empty_values: Values without a byte that each of its values contains for certain, itself among them.
        is_empty: Whether its values take no bytes.
        connect_name: The type of Kafka Connect that its values are of (`connect.name`); empty: none is named.
    """

    kind: AvroKind
    leaf: Leaf | None = None
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    item: "AvroType | None" = None
    fields: dict[str, "AvroType"] = field(default_factory=dict)
    branches: tuple["AvroType", ...] = ()
    empty_values: int = 0
    is_empty: bool = False
    connect_name: str = ""

    @property
    def empty_parts(self) -> int:
        """The values of `empty_values` without itself: where it stands behind a byte, of a union or a key."""
        return self.empty_values - self.is_empty

    @property
    def native_kind(self) -> NativeKind:
        """The kind of its values; a UNION has none."""
        return _PARTS[self.kind] if self.leaf is None else self.leaf.kind

    @property
    def column_type(self) -> DataType | None:
        """The type of a column that holds each of its values; None of null, of durations and of types with parts."""
        if self.leaf is None:
            return None
        is_short = self.kind in (AvroKind.INT, AvroKind.FLOAT)
        return leaf_column_type(self.leaf, is_short=is_short, digits=(self.precision, self.scale))

    @property
    def identity(self) -> int:
        """What its type has in common with itself only."""
        return id(self)

    @property
    def possible(self) -> tuple["AvroType", ...]:
        """The types that a value can have: the branches of a UNION without null, or the type itself."""
        if self.kind is not AvroKind.UNION:
            return (self,)
        return tuple(branch for branch in self.branches if branch.kind is not AvroKind.NULL)


def parse_avro_schema(text: str, references: Sequence[str] = ()) -> AvroType:
    """Return the type of a message.

    Args:
        text: The schema as JSON.
        references: Texts of schemas that it refers to by the names of their types, each behind those that it
            refers to itself.

    Raises:
        AvroSchemaError: A text is no schema; or the message is not a record.
    """
    types = _Types()
    try:
        for reference in references:
            types.parse(_loaded(reference), "", 0)
        found = types.parse(_loaded(text), "", 0)
        _check_parts(found, {}, ())
    except RecursionError as error:  # types that contain each other by their names
        message = "its types are nested too deeply"
        raise AvroSchemaError(message) from error
    if found.kind is not AvroKind.RECORD:
        message = f"found {found.kind}, expected a record"
        raise AvroSchemaError(message)
    if found.empty_values > EMPTY_VALUES_MAX:
        message = f"a record contains more than {EMPTY_VALUES_MAX} values that take no bytes"
        raise AvroSchemaError(message)
    return found


def _check_parts(declared: AvroType, counts: dict[int, int], around: tuple[AvroType, ...]) -> int:
    """Return how many values a value of a type always contains, by types without a union, array or map between them.

    Sets how many of them take no bytes.

    Raises:
        AvroSchemaError: They are too many, or never end: a few bytes could fill the memory.
    """
    if declared in around:
        message = "a record contains itself, with no union, array or map in between"
        raise AvroSchemaError(message)
    known = counts.get(id(declared))
    if known is not None:
        return known
    count = 1
    if declared.kind is AvroKind.RECORD:
        inside = (*around, declared)
        count += sum(_check_parts(part, counts, inside) for part in declared.fields.values())
    if count > _PARTS_MAX:
        message = f"a record contains more than {_PARTS_MAX} values"
        raise AvroSchemaError(message)
    counts[id(declared)] = count
    _set_empty_values(declared)
    parts = declared.branches if declared.item is None else (declared.item,)
    for part in parts:
        _check_parts(part, counts, ())
    return count


def _set_empty_values(declared: AvroType) -> None:
    """Set how many values without a byte a type has, by those of its fields."""
    match declared.kind:
        case AvroKind.NULL:
            declared.is_empty = True
        case AvroKind.FIXED:
            declared.is_empty = declared.size == 0
        case AvroKind.RECORD:
            declared.is_empty = all(part.is_empty for part in declared.fields.values())
        case _:
            pass
    inside = sum(part.empty_values for part in declared.fields.values())
    declared.empty_values = inside + declared.is_empty


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # A registry may hold the bare name of a primitive type.
        if text.strip() in _PRIMITIVES:
            return text.strip()
        message = f"not JSON: {error}"
        raise AvroSchemaError(message) from error


class _Types:
    """The named types of a schema, by full name."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType] = {}

    def parse(self, schema: Any, namespace: str, depth: int) -> AvroType:
        if depth > NESTING_MAX:
            message = f"nested more than {NESTING_MAX} levels deep"
            raise AvroSchemaError(message)
        match schema:
            case str():
                return self._of_name(schema, namespace)
            case list():
                return self._union(schema, namespace, depth)
            case {"type": str(kind)} if kind in _COMPLEX or kind in _PRIMITIVES:
                return self._declared(AvroKind(kind), schema, namespace, depth)
            case {"type": "error"}:
                return self._declared(AvroKind.RECORD, schema, namespace, depth)
            case {"type": inner}:
                return self.parse(inner, namespace, depth + 1)
            case _:
                message = f"found {_shown(schema)}, expected a type"
                raise AvroSchemaError(message)

    def _of_name(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVES:
            return AvroType(AvroKind(name), leaf=_LEAVES[AvroKind(name)])
        found = self._named.get(_full_name(name, namespace)) or self._named.get(name)
        if found is None:
            message = (
                f"found the type {_shown(name)}, which is not declared, or only after it is used"
            )
            raise AvroSchemaError(message)
        return found

    def _union(self, schema: list[Any], namespace: str, depth: int) -> AvroType:
        branches = tuple(self.parse(branch, namespace, depth + 1) for branch in schema)
        if not branches:
            message = "a union has no types"
            raise AvroSchemaError(message)
        if any(branch.kind is AvroKind.UNION for branch in branches):
            message = "a union is directly inside of another union"
            raise AvroSchemaError(message)
        # Of records, enums and fixed types a union can have several, by name; of others one of each kind.
        same = [id(one) if one.kind in _NAMED else one.kind for one in branches]
        if len(set(same)) < len(same):
            message = f"a type occurs twice in the union {_shown(schema)}"
            raise AvroSchemaError(message)
        return AvroType(AvroKind.UNION, branches=branches)

    def _declared(
        self, kind: AvroKind, schema: dict[str, Any], namespace: str, depth: int
    ) -> AvroType:
        found = AvroType(kind, leaf=_LEAVES.get(kind))
        match kind:
            case AvroKind.ARRAY | AvroKind.MAP:
                part = "items" if kind is AvroKind.ARRAY else "values"
                found.item = self.parse(_property(schema, part), namespace, depth + 1)
            case AvroKind.RECORD:
                inside = self._name(found, schema, namespace)
                self._add_fields(found, _property(schema, "fields"), inside, depth)
            case AvroKind.ENUM:
                self._name(found, schema, namespace)
                found.symbols = _symbols(_property(schema, "symbols"))
            case AvroKind.FIXED:
                self._name(found, schema, namespace)
                found.size = _whole(schema, "size", low=0)
            case _:  # a primitive type with properties
                pass
        _add_logical_type(found, schema)
        connect_name = schema.get("connect.name")
        found.connect_name = connect_name if isinstance(connect_name, str) else ""
        return found

    def _name(self, found: AvroType, schema: dict[str, Any], namespace: str) -> str:
        """Register a type under its name; return the namespace inside of it."""
        name, own = _property(schema, "name"), schema.get("namespace")
        if not is_full_name(name) or name.rpartition(".")[2] in _PRIMITIVES:
            message = f"found {_shown(name)}, expected the name of a type"
            raise AvroSchemaError(message)
        if own is None:
            own = namespace
        if own != "" and not is_full_name(own):
            message = f"found {_shown(own)}, expected a namespace"
            raise AvroSchemaError(message)
        full = _full_name(name, own)
        if full in self._named:
            message = f"the type {_shown(full)} is declared twice"
            raise AvroSchemaError(message)
        self._named[full] = found
        return full.rpartition(".")[0]

    def _add_fields(self, record: AvroType, fields: Any, namespace: str, depth: int) -> None:
        if not isinstance(fields, list):
            message = f"found {_shown(fields)}, expected a list of fields"
            raise AvroSchemaError(message)
        for declared in fields:
            name = _property(declared, "name")
            if not is_name(name) or name in record.fields:
                message = f"found {_shown(name)}, expected the name of a field that occurs once"
                raise AvroSchemaError(message)
            record.fields[name] = self.parse(_property(declared, "type"), namespace, depth + 1)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _property(schema: Any, name: str) -> Any:
    if not isinstance(schema, dict) or name not in schema:
        message = f"found {_shown(schema)}, expected an object with `{name}`"
        raise AvroSchemaError(message)
    return schema[name]


def _symbols(symbols: Any) -> tuple[str, ...]:
    if not isinstance(symbols, list) or not symbols or not all(map(is_name, symbols)):
        message = f"found {_shown(symbols)}, expected a list of at least one symbol"
        raise AvroSchemaError(message)
    if len(set(symbols)) < len(symbols):
        message = f"a symbol occurs twice in {_shown(symbols)}"
        raise AvroSchemaError(message)
    return tuple(symbols)


def _whole(schema: dict[str, Any], name: str, *, low: int) -> int:
    found = schema.get(name)
    if not isinstance(found, int) or isinstance(found, bool) or not low <= found < 2**31:
        message = f"found {_shown(found)}, expected a whole number as `{name}`"
        raise AvroSchemaError(message)
    return found


def _add_logical_type(found: AvroType, schema: dict[str, Any]) -> None:
    name = schema.get("logicalType")
    if not isinstance(name, str) or name not in _LOGICAL:
        return
    kinds, leaf = _LOGICAL[name]
    if found.kind not in kinds:
        return
    if found.kind is AvroKind.FIXED and found.size != _SIZES.get(name, found.size):
        return
    if leaf.kind is NativeKind.DECIMAL:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        # A decimal without a valid precision is the bytes that it is encoded in.
        if not isinstance(precision, int) or not isinstance(scale, int):
            return
        if isinstance(precision, bool) or isinstance(scale, bool):
            return
        if not 0 <= scale <= precision <= _PRECISION_MAX or precision == 0:
            return
        if found.kind is AvroKind.FIXED and 10**precision > 1 << max(0, 8 * found.size - 1):
            return
        found.precision, found.scale = precision, scale
    found.leaf = leaf


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:80]
