"""Typed decoder: the fields of a stream's columns from usual JSON messages, fast.

The declared fields become a tree of msgspec's structs, so that a message is checked and taken apart in one
pass. The decoder accepts less than the exact reader (`json.exact_values`), and what it accepts it reads in the
same way: a message that it refuses is read again, exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec

from braid.formats.field_tree import FieldTree, field_tree
from braid.formats.integer_bounds import INTEGER_BOUND
from braid.formats.mapped_column import MappedColumn
from braid.formats.times import DATE_AND_TIME_TYPES
from braid.lake import DataType, TypeRoot

_NULL: Final = msgspec.Raw(b"null")
_FLOAT_MAX: Final = (2 - 2**-23) * 2**127
_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_LENGTH_MAX: Final = 2**31 - 1  # what declares no bound


def is_text(data_type: DataType) -> bool:
    """Return whether a column holds texts, which can be any JSON value."""
    return data_type.root in _TEXTS


def _is_kept_raw(data_type: DataType) -> bool:
    """Return whether the decoder gives the JSON text of a column's values, because it cannot check them itself.

    msgspec keeps one of two equal keys of an object without an error, and reads as a DECIMAL more texts than
    are one.
    """
    if data_type.root is TypeRoot.ARRAY:
        assert data_type.element is not None, "an ARRAY has an element type"
        item = data_type.element
        return item.is_nested or item.root in DATE_AND_TIME_TYPES or _is_kept_raw(item)
    return data_type.is_nested or data_type.root is TypeRoot.DECIMAL


@dataclass(frozen=True, slots=True)
class _Node:
    """One object of the message: how the values of its fields, and the objects in it, are taken from a struct."""

    struct: type[msgspec.Struct]
    values: tuple[tuple[tuple[str, ...], Callable[[Any], Any]], ...]
    inner: tuple[tuple[Callable[[Any], Any], "_Node"], ...]


class TypedDecoder:
    """Decodes the messages of one stream."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        refuses_unknown: bool,
        keeps_texts_raw: bool = False,
    ) -> None:
        """Build the types.

        Args:
            columns: The columns that are read.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            refuses_unknown: Whether a message is refused that has an undeclared field in an object from which
                a column is read. Fields inside of the columns' values are not looked at.
            keeps_texts_raw: Whether the JSON text is given for columns of texts; else a message is refused
                that has another value than a text there.

        Raises:
            ValueError: The name of a field is one that msgspec cannot have.
        """
        self._columns = columns
        self._keeps_texts_raw = keeps_texts_raw
        tree = field_tree(columns, paths_of_other_streams)
        self._root = self._node(tree, (), refuses_unknown=refuses_unknown)
        self._decode = msgspec.json.Decoder(self._root.struct).decode

    def is_kept_raw(self, data_type: DataType) -> bool:
        """Return whether `decode` gives the JSON text of a column's values, as `Raw`, `null` included."""
        return _is_kept_raw(data_type) or (self._keeps_texts_raw and is_text(data_type))

    def decode(self, messages: Sequence[bytes | None]) -> tuple[list[list[Any]], list[int]]:
        """Return the columns of a batch of messages, and the messages that are refused.

        Args:
            messages: The messages; None is read as a message without any field.

        Returns:
            Per column one value for each message, None where it has none: text for dates and times, `Raw`
            where `is_kept_raw`. And the positions of the messages that are refused, ascending; their
            values are None.
        """
        decode, empty = self._decode, self._root.struct()
        objects, refused = [], []
        for position, message in enumerate(messages):
            try:
                objects.append(empty if message is None else decode(message))
            except (ValueError, RecursionError):  # not what is declared, or not JSON
                objects.append(empty)
                refused.append(position)
        found: dict[tuple[str, ...], list[Any]] = {}
        _take(self._root, objects, found)
        return [found[column.path] for column in self._columns], refused

    def _node(self, tree: FieldTree, path: tuple[str, ...], *, refuses_unknown: bool) -> _Node:
        fields: list[tuple[str, Any, Any]] = []
        names: dict[str, str] = {}

        def add(name: str, kind: Any, default: Any) -> str:
            attribute = f"f{len(fields)}"
            names[attribute] = name
            fields.append((attribute, kind, default))
            return attribute

        inner = []
        for name, below in tree.objects.items():
            node = self._node(below, (*path, name), refuses_unknown=refuses_unknown)
            inner.append((attrgetter(add(name, node.struct | None, None)), node))
        values = []
        for name, data_type in tree.values.items():
            is_raw = self.is_kept_raw(data_type)
            kind = msgspec.Raw if is_raw else _kind(data_type) | None
            attribute = add(name, kind, _NULL if is_raw else None)
            values.append(((*path, name), attrgetter(attribute)))
        for name in tree.other_streams:
            add(name, msgspec.Raw, _NULL)
        struct = msgspec.defstruct(
            "Message",
            fields,
            rename=names,
            gc=False,
            forbid_unknown_fields=refuses_unknown and tree.has_columns,
        )
        return _Node(
            struct=struct,
            values=tuple(values),
            inner=tuple(inner),
        )


def _take(node: _Node, objects: list[Any], found: dict[tuple[str, ...], list[Any]]) -> None:
    """Add the values of an object's fields, and of the objects in it, to `found`."""
    # Column by column: a tuple per message would set off the garbage collector again and again.
    for path, take in node.values:
        found[path] = list(map(take, objects))
    for take, below in node.inner:
        empty = below.struct()
        _take(below, [empty if one is None else one for one in map(take, objects)], found)


def _kind(data_type: DataType) -> Any:
    """Return the type of a column's values for msgspec, without null."""
    root, length = data_type.root, data_type.length
    if root is TypeRoot.BOOLEAN:
        return bool
    if root in INTEGER_BOUND:
        bound = INTEGER_BOUND[root]
        return Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)]
    if root is TypeRoot.FLOAT:
        return Annotated[float, msgspec.Meta(ge=-_FLOAT_MAX, le=_FLOAT_MAX)]
    if root is TypeRoot.DOUBLE:
        return float
    if root in DATE_AND_TIME_TYPES:
        return str
    if root is TypeRoot.ARRAY:
        assert data_type.element is not None, "an ARRAY has an element type"
        item = _kind(data_type.element)
        return list[item | None] if data_type.element.nullable else list[item]  # type: ignore[valid-type]
    assert root in _TEXTS or root in _BINARIES, "every other type is kept raw"
    plain: Any = str if root in _TEXTS else bytes
    if length is None or length == _LENGTH_MAX:
        return plain
    return Annotated[plain, msgspec.Meta(max_length=length)]
