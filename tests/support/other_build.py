"""Another build of this software, as a program: `python -m tests.support.other_build service --warehouse …`.

It differs from this build in the documents that processes store: each object has a field more (`ADDED`), and lacks some of
the fields that this build has (`REMOVED`), as a version before or after this one would. It reads past what it does not know, and
writes what it has.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import braid.registry.store.stored_documents as stored
from braid.schemas import Contract

ADDED: Final = "of_another_build"
VALUE: Final = 7
REMOVED: Final = frozenset(
    {
        "address",
        "changes_left_out",
        "comment",
        "created_ms",
        "dead_letter_budget",
        "progress",
        "replay",
        "requested_by",
        "trace",
    }
)
"""Names of optional fields of stored documents and reports; where a document needs a field of that name, both builds have it."""

_CONTRACTS: Final = (
    "braid.registry.store.leases",
    "braid.registry.store.remembered_requests",
    "braid.schemas.access",
)
"""Modules with contracts of stored documents that `braid.schemas` does not import."""

ModelT = TypeVar("ModelT", bound=BaseModel)

_parse_stored = stored.parse_stored


def parse_stored(model: type[ModelT], data: bytes | Mapping[str, Any]) -> ModelT:
    """Return a document as this build reads it: without the fields that it does not know."""
    content = orjson.loads(data) if isinstance(data, bytes) else data
    needed = {name: content[name] for name in required(model) & content.keys()}
    return _parse_stored(model, without_removed(content) | needed)


def required(model: type[BaseModel]) -> set[str]:
    """Return the names of the fields that no document lacks; a name of `REMOVED` may be among them."""
    return {name for name, field in model.__pydantic_fields__.items() if field.is_required()}


def without_removed(content: Any) -> Any:
    """Return JSON values without the removed fields, in every object."""
    if isinstance(content, dict):
        known = {key: value for key, value in content.items() if key not in REMOVED}
        return {key: without_removed(value) for key, value in known.items()}
    if isinstance(content, list):
        return [without_removed(value) for value in content]
    return content


def become_other() -> None:
    """Change the contracts of this process to those of the other build, before its other modules are imported."""
    stored.parse_stored = parse_stored
    for module in _CONTRACTS:
        importlib.import_module(module)
    models = list(contracts())
    for model in models:
        fields = model.__pydantic_fields__
        for name in REMOVED & fields.keys() - required(model):
            fields[name].exclude = True
        fields[ADDED] = FieldInfo(annotation=int, default=VALUE)
    # The schema of a model includes those of its fields, so models are built again until each has the new ones.
    for _ in range(3):
        for model in models:
            model.model_rebuild(force=True)


def contracts(of: type[Contract] = Contract) -> Iterator[type[Contract]]:
    """Yield the contracts that are defined so far, bases first."""
    for model in of.__subclasses__():
        yield model
        yield from contracts(model)


if __name__ == "__main__":
    become_other()
    from braid.cli.main import main

    main()
