"""Typed decoder: reads the fields of a stream's columns from usual JSON messages, fast.

The declared fields become a tree of msgspec structs, so one pass checks a message and decodes its fields. `json.message_reader`
checks first that the messages are UTF-8. The decoder accepts fewer messages than the exact reader (`json.exact_values`), and
gives the same values for every message that it accepts. `json.message_reader` passes the messages that the decoder refuses to
the exact reader.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from braid.formats.field_tree import FieldTree, field_tree
from braid.formats.json.typed_columns import (
    NULL,
    TypedColumn,
    json_text_column,
    scalar_text_column,
    typed_column,
    variant_column,
)
from braid.formats.mapped_column import MappedColumn

_UNSET: Final = msgspec.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedMessages:
    """What a batch of messages holds for the columns of a stream.

    Attributes:
        columns: Per column the decoded value of each message (`typed_columns`), the column's default
            where it has none.
        missing: By name of each column with `finds_missing`, where the message has no such field; true for a
            message that is refused.
        refused: Positions of the messages that are refused, ascending; their values are the defaults.
    """

    columns: list[list[Any]]
    missing: dict[str, npt.NDArray[np.bool_]]
    refused: list[int]


@dataclass(frozen=True, slots=True)
class _Node:
    """One object of the message: how the values of its fields, and the objects in it, are taken from a struct."""

    struct: type[msgspec.Struct]
    values: tuple[tuple[tuple[str, ...], Callable[[Any], Any]], ...]
    inner: tuple[tuple[Callable[[Any], Any], "_Node"], ...]


class TypedDecoder:
    """Decodes the messages of one stream.

    Attributes:
        typed: By name of the column, how its values are decoded.
    """

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
                a column is read, or in a ROW inside of a value. The JSON text of a raw column is not
                looked at.
            keeps_texts_raw: Whether the JSON text is given for columns of texts; else a message is refused
                that has another value than a text there.

        Raises:
            ValueError: The name of a field is one that msgspec cannot have.
        """
        self._columns = columns
        options = {"keeps_texts_raw": keeps_texts_raw, "refuses_unknown": refuses_unknown}
        self.typed = {column.name: _typed(column, **options) for column in columns}
        by_path = {column.path: self.typed[column.name] for column in columns}
        tree = field_tree(columns, paths_of_other_streams)
        self._defaults = {
            column.path: by_path[column.path].default for column in columns if column.finds_missing
        }
        self._root = _node(
            tree, (), by_path, refuses_unknown=refuses_unknown, may_be_unset=self._defaults
        )
        self._decode = msgspec.json.Decoder(self._root.struct).decode

    @property
    def raw_columns(self) -> frozenset[str]:
        """Names of the columns for which `decode` gives JSON texts, as `Raw`, `null` included."""
        return frozenset(name for name, column in self.typed.items() if column.is_raw)

    def decode(self, messages: Sequence[bytes | None]) -> DecodedMessages:
        """Return the columns of a batch of messages, and the messages that are refused.

        Args:
            messages: The messages; None is read as a message without any field.
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
        missing = {path: self._set_defaults(path, found) for path in self._defaults}
        return DecodedMessages(
            columns=[found[column.path] for column in self._columns],
            missing={c.name: missing[c.path] for c in self._columns if c.finds_missing},
            refused=refused,
        )

    def _set_defaults(
        self, path: tuple[str, ...], found: dict[tuple[str, ...], list[Any]]
    ) -> npt.NDArray[np.bool_]:
        """Put the default where a field is missing, and return where that is."""
        values, default = found[path], self._defaults[path]
        missing = np.fromiter((value is _UNSET for value in values), bool, len(values))
        if missing.any():
            found[path] = [default if value is _UNSET else value for value in values]
        return missing


def _typed(column: MappedColumn, **options: bool) -> TypedColumn:
    if column.keeps_json:
        return json_text_column()
    if column.holds_json:
        return variant_column(holds_json=True)
    return scalar_text_column() if column.takes_scalars else typed_column(column.type, **options)


def _node(
    tree: FieldTree,
    path: tuple[str, ...],
    typed: Mapping[tuple[str, ...], TypedColumn],
    *,
    refuses_unknown: bool,
    may_be_unset: Collection[tuple[str, ...]],
) -> _Node:
    fields: list[tuple[str, Any, Any]] = []
    names: dict[str, str] = {}

    def add(name: str, kind: Any, default: Any) -> str:
        attribute = f"f{len(fields)}"
        names[attribute] = name
        fields.append((attribute, kind, default))
        return attribute

    inner = []
    for name, below in tree.objects.items():
        node = _node(
            below,
            (*path, name),
            typed,
            refuses_unknown=refuses_unknown,
            may_be_unset=may_be_unset,
        )
        inner.append((attrgetter(add(name, node.struct | None, None)), node))
    values = []
    for name in tree.values:
        column = typed[*path, name]
        default = _UNSET if (*path, name) in may_be_unset else column.default
        values.append(((*path, name), attrgetter(add(name, column.kind, default))))
    for name in tree.other_streams:
        add(name, msgspec.Raw, NULL)
    struct = msgspec.defstruct(
        "Message",
        fields,
        rename=names,
        gc=False,
        forbid_unknown_fields=refuses_unknown and tree.has_columns,
    )
    return _Node(struct=struct, values=tuple(values), inner=tuple(inner))


def _take(node: _Node, objects: list[Any], found: dict[tuple[str, ...], list[Any]]) -> None:
    """Add the values of an object's fields, and of the objects in it, to `found`."""
    # Column by column: a tuple per message would set off the garbage collector again and again.
    for path, take in node.values:
        found[path] = list(map(take, objects))
    for take, below in node.inner:
        empty = below.struct()
        _take(below, [empty if one is None else one for one in map(take, objects)], found)
