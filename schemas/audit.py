"""Entries of the audit log: who changed what, when, from where, with the values before and after."""

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from braid.schemas.contract import Contract

TEXT_BYTES_MAX: Final = 128
"""Bytes of each text about an actor in UTF-8: the mark of a dropped table holds them, and is small."""


def _shortened(text: str) -> str:
    """Return a text of at most `TEXT_BYTES_MAX` bytes, with `?` in place of characters that cannot be shown."""
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown.encode("utf-8", "replace")[:TEXT_BYTES_MAX].decode("utf-8", "ignore")


ShortText = Annotated[str, AfterValidator(_shortened)]


class AuditAction(StrEnum):
    """A kind of change, named after the request that makes it."""

    PUT_TABLE = "put_table"
    PATCH_TABLE = "patch_table"
    DROP_TABLE = "drop_table"
    CHANGE_SCHEMA = "change_schema"
    WITHDRAW_SCHEMA_CHANGE = "withdraw_schema_change"
    RESCALE_TABLE = "rescale_table"
    ROLL_BACK_TABLE = "roll_back_table"
    COMPACT_TABLE = "compact_table"
    EXPIRE_SNAPSHOTS = "expire_snapshots"
    CLEAN_ORPHAN_FILES = "clean_orphan_files"
    CANCEL_OPERATION = "cancel_operation"
    DELETE_OPERATION = "delete_operation"
    PUT_TAG = "put_tag"
    DELETE_TAG = "delete_tag"
    PUT_CONSUMER = "put_consumer"
    DELETE_CONSUMER = "delete_consumer"
    PUT_STREAM = "put_stream"
    PATCH_STREAM = "patch_stream"
    DELETE_STREAM = "delete_stream"
    START_STREAM = "start_stream"
    PAUSE_STREAM = "pause_stream"
    RESUME_STREAM = "resume_stream"
    RESTART_STREAM = "restart_stream"
    STOP_STREAM = "stop_stream"
    SET_OFFSETS = "set_offsets"
    REPLAY_DEAD_LETTERS = "replay_dead_letters"
    WITHDRAW_REPLAY = "withdraw_replay"
    DRAIN_RUNNER = "drain_runner"
    UNDRAIN_RUNNER = "undrain_runner"
    CREATE_TOKEN = "create_token"  # noqa: S105  # the name of an action
    REVOKE_TOKEN = "revoke_token"  # noqa: S105  # the name of an action


class Actor(Contract):
    """Who makes a change, and from where.

    Attributes:
        name: Name of the token or user of a request; `anonymous` without one; the user of the operating system for a
            command; `runner <name>` for a runner.
        address: Network address of a request's sender; name of the machine for a command or runner; None: not known.
        request_id: Id of the request; None: a command or a runner has made the change.
    """

    name: ShortText
    address: ShortText | None = None
    request_id: ShortText | None = None


class AuditChange(Contract):
    """One changed value of a declaration.

    Attributes:
        pointer: JSON pointer of the value (RFC 6901), such as `/streams/payments/desired_state`. An index of a list
            is that after the change; of an entry that was removed, that before it.
        before: The value before the change; None: it was absent or null.
        after: The value after the change; None: it is absent or null.
    """

    pointer: str
    before: Any = None
    after: Any = None


class AuditEntry(Contract):
    """One entry of the audit log.

    Attributes:
        id: Unique id of the entry.
        time_ms: Time of the change by the clock of the process that made it, milliseconds since the epoch, UTC; never
            less than that of an earlier change of the same document.
        actor: Who made the change.
        action: The kind of change, usually an `AuditAction`; a newer version may have others.
        table: `<database>.<table>`; None: the change concerns no table.
        stream: Name of the stream; None: the change concerns the table, or no table.
        version: Version of the table's document that made the change; None: no document was changed.
        changes: The changed values, in the order of pointers.
        changes_left_out: Number of changed values that are left out because they are too large.
    """

    id: str
    time_ms: Annotated[int, Field(ge=0)]
    actor: Actor
    action: str
    table: str | None = None
    stream: str | None = None
    version: int | None = None
    changes: tuple[AuditChange, ...] = ()
    changes_left_out: int = 0


class AuditRecord(AuditEntry):
    """An entry of the audit log, as answers contain it.

    Attributes:
        time: The time of the change, ISO 8601, UTC.
    """

    time: str


class AuditPage(Contract):
    """A page of the audit log, newest entry first.

    Attributes:
        entries: The entries; may be fewer than `page_size`, even none, if few of many entries match the filters.
        next_page_token: Token of the next page; None: there are no older entries.
    """

    entries: tuple[AuditRecord, ...]
    next_page_token: str | None
