"""Documents on storage, which versions of this software that are older and newer share.

1. A field that this version does not know is passed over when a document is read, and is in the next
   version that is written, at its place: below the same names, and in a list at the entry of the same
   name. It goes with what it belongs to.
2. A document, and each stream in it, lists the *features* that acting on it needs. A version that lacks
   one shows the document and neither runs nor changes it. Only what needs a feature may hold values that
   an older version cannot read at all; it then says so in place of showing it.

Requests are another thing: there an unknown field is a mistake, and refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from lake import CorruptData
from registry.errors import FeaturesMissing
from schemas import StreamEntry, TableDocument

ModelT = TypeVar("ModelT", bound=BaseModel)

START_ANEW: Final = "start_anew"
"""A stream has a `former_epoch`: a version that passes it over reads records a second time."""
FEATURES: Final[frozenset[str]] = frozenset({START_ANEW})
"""The features that this version has. A change of documents that older versions must not act on adds its
name here, and to `features` of the documents and streams that need it."""

_WRITE_ID: Final = "write_id"
_DROPPED: Final = "dropped"
_DROPPED_BYTES_MAX: Final = 1_000
_NAMES: Final = ("name", "column", "key")
"""What tells the entries of a list from each other, whichever of them they have."""


def parse_stored(model: type[ModelT], data: bytes | Mapping[str, Any]) -> ModelT:
    """Return a document without the fields that this version does not know.

    Raises:
        ValidationError: It is none.
    """
    if isinstance(data, bytes):
        return model.model_validate_json(data, extra="ignore")
    return model.model_validate(data, extra="ignore")


def parse_document(data: bytes, *, what: str) -> TableDocument:
    """Return a table's document.

    Args:
        data: As stored.
        what: Names it in errors.

    Raises:
        FeaturesMissing: It cannot be read, and names features that this version does not have.
        CorruptData: It cannot be read.
    """
    content: Any = None
    try:
        content = orjson.loads(data)
        return parse_stored(TableDocument, content)
    except (ValidationError, ValueError) as error:
        missing = _listed_features(content) - FEATURES
        if missing:
            raise features_missing(what, sorted(missing)) from error
        message = f"{what}: {error}"
        raise CorruptData(message) from error


def missing_features(document: TableDocument, stream: StreamEntry | None = None) -> tuple[str, ...]:
    """Return the features that this version lacks, in alphabetical order.

    Args:
        document: Of the table.
        stream: To run it; None: to change the document, which all that is in it is judged for.
    """
    entries = document.streams.values() if stream is None else [stream]
    listed = {*document.features, *(name for entry in entries for name in entry.features)}
    return tuple(sorted(listed - FEATURES))


def features_missing(what: str, missing: Sequence[str]) -> FeaturesMissing:
    """Return the error of a document that this version must not act on."""
    message = (
        f"{what} needs what this version does not have: {', '.join(missing)}\n"
        "hint: a newer version has written it; use one"
    )
    return FeaturesMissing(message, missing=tuple(missing))


def dump_document(document: TableDocument, *, before: bytes | None, write_id: str) -> bytes:
    """Return what is stored of a document.

    Args:
        document: The whole document.
        before: The version that it was made from; its unknown fields go on.
        write_id: Of this write.
    """
    content: dict[str, Any] = document.model_dump(mode="json")
    if before is not None:
        old = orjson.loads(before)
        known = parse_stored(TableDocument, old).model_dump(mode="json")
        content = _with_unknown(content, old, known)
    content[_WRITE_ID] = write_id
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def _with_unknown(new: Any, old: Any, known: Any) -> Any:
    """Return new content with what the old one had and nobody knew.

    Args:
        new: To be written.
        old: As it was stored, at the same place.
        known: What was understood of it.
    """
    if isinstance(new, dict) and isinstance(old, dict) and isinstance(known, dict):
        unknown = {key: value for key, value in old.items() if key not in known}
        return {
            **unknown,
            **{k: _with_unknown(v, old.get(k), known.get(k)) for k, v in new.items()},
        }
    if isinstance(new, list) and isinstance(old, list) and isinstance(known, list):
        pairs = {_name(one): (one, seen) for one, seen in zip(old, known, strict=True)}
        pairs.pop(None, None)
        return [_with_unknown(one, *pairs.get(_name(one), (None, None))) for one in new]
    return new


def _name(entry: object) -> str | None:
    if not isinstance(entry, dict):
        return None
    return next((f"{key} {entry[key]}" for key in _NAMES if key in entry), None)


def _listed_features(content: object) -> set[str]:
    """Return the features that unreadable content lists, as far as that can be told."""
    if not isinstance(content, dict):
        return set()
    streams = content.get("streams")
    entries = [*streams.values()] if isinstance(streams, dict) else []
    lists = [one.get("features") for one in (content, *entries) if isinstance(one, dict)]
    return {
        name
        for listed in lists
        if isinstance(listed, list)
        for name in listed
        if isinstance(name, str)
    }


def dump_dropped(*, write_id: str) -> bytes:
    """Return the version that says that a table is not registered any more."""
    return orjson.dumps({_WRITE_ID: write_id, _DROPPED: True})


def is_dropped(data: bytes) -> bool:
    """Return whether a version says that its table is not registered any more."""
    if len(data) > _DROPPED_BYTES_MAX:  # a document: not worth reading twice
        return False
    try:
        content = orjson.loads(data)
    except ValueError:
        return False
    return isinstance(content, dict) and content.get(_DROPPED) is True
