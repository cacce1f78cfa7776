"""Fields of a stream's declaration that a running query takes up between two micro-batches; a change of any other field needs a new query. Pure."""

from typing import Final

from braid.schemas import StreamSpec

LIVE_FIELDS: Final = frozenset(
    {
        "columns",
        "on_new_field",
        "columns_max",
        "on_null_ordering",
        "max_message_bytes",
        "dead_letter_budget",
        "placement",
        "labels",
        "owner",
    }
)

FOR_PEOPLE: Final = ("labels", "owner")
"""Fields of tables and streams that no query and no answer about rows depends on."""


def can_apply_live(old: StreamSpec, new: StreamSpec) -> bool:
    """Return whether a running query can apply all changes of a stream's new declaration."""
    return old == with_live_fields(new, old)


def with_live_fields(running: StreamSpec, new: StreamSpec) -> StreamSpec:
    """Return the running declaration with those fields of the new one that a running query can apply."""
    return running.model_copy(update={name: getattr(new, name) for name in LIVE_FIELDS})


def writes_alike(old: StreamSpec, new: StreamSpec) -> bool:
    """Return whether two declarations differ at most in what is for people, or says where the stream runs."""
    unwritten = (*FOR_PEOPLE, "placement")
    return old == new.model_copy(update={name: getattr(old, name) for name in unwritten})
