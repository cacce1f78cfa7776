"""Request for a subscription: keys, columns and beginning, from the parameters of an address or from a body."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from braid.formats.key_values import parse_key, parse_keys
from braid.lake import ChangedKeysPosition, InvalidRequest, Problem, TableSchema
from braid.schemas.api import KEYS_MAX, SNAPSHOT_ID_MAX, RowSubscription
from braid.service.column_mask import ColumnMask
from braid.service.control.read_at_parameters import split_parameters
from braid.service.subscription.cursor import parse_cursor

NOW: Final = "now"
KEYS: Final = "keys"
SUBSCRIPTION_PARAMETERS: Final = (KEYS, "columns", "from", "initial", "cursor")
"""Names of the parameters of an address besides the columns of the key."""

_SUMMARY: Final = "the parameters of the subscription are not valid"
_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_DIGITS_MAX: Final = 19  # digits of a snapshot id, as many as 2**63 has


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRequest:
    """A request for a subscription.

    Attributes:
        keys: Values of the key columns; None: all keys of the table.
        columns: Columns of the rows, in order; None: all.
        position: The position after which changes are wanted; None: it begins with `from_snapshot`.
        from_snapshot: Id of the snapshot after which changes are wanted, 0: all; None: the newest.
        initial: Whether the present rows are wanted first.
    """

    keys: tuple[dict[str, object], ...] | None
    columns: tuple[str, ...] | None
    position: ChangedKeysPosition | None
    from_snapshot: int | None
    initial: bool


def request_of_parameters(
    identifier: str,
    schema: TableSchema,
    parameters: Sequence[tuple[str, str]],
    *,
    last_event_id: str | None,
    mask: ColumnMask,
) -> SubscriptionRequest:
    """Return the request that the parameters of an address make.

    A parameter with the name of a column of the primary key is that column's value.

    Args:
        identifier: `db.table`.
        schema: The table's schema.
        parameters: Names and texts of the address's parameters.
        last_event_id: The header of a client that connects again; its cursor is newer than the address.
        mask: The columns that the client may not see.

    Raises:
        ColumnMasked: The client may not see the rows, or a column.
        InvalidRequest: A parameter is not valid, or given more than once.
    """
    names = [name for name in SUBSCRIPTION_PARAMETERS if name not in schema.primary_keys]
    given, key = split_parameters(parameters, names, summary=_SUMMARY)
    keys: tuple[dict[str, object], ...] | None = None
    if key:
        keys = (parse_key(schema, key),)
    if KEYS in given:
        if keys is not None:
            message = "the address names a key by its columns, too"
            raise _refused(
                field=KEYS, value=given[KEYS], message=message, hint="name all keys in `keys`"
            )
        keys = tuple(parse_keys(schema, _keys_of(given[KEYS])))
    columns = given.get("columns")
    initial = given.get("initial", "false")
    if initial not in _BOOLEANS:
        raise _refused(field="initial", value=initial, message="expected `true` or `false`")
    return _request(
        identifier,
        keys=keys,
        columns=mask.visible(schema, None if columns is None else columns.split(",")),
        cursor=given.get("cursor"),
        begin=_from(given.get("from")),
        initial=_BOOLEANS[initial],
        last_event_id=last_event_id,
    )


def request_of_body(
    identifier: str,
    schema: TableSchema,
    body: RowSubscription,
    *,
    last_event_id: str | None,
    mask: ColumnMask,
) -> SubscriptionRequest:
    """Return the request that a body makes; raises what `request_of_parameters` raises."""
    return _request(
        identifier,
        keys=None if body.keys is None else tuple(parse_keys(schema, body.keys)),
        columns=mask.visible(schema, body.columns),
        cursor=body.cursor,
        begin=_from(None if body.from_ is None else str(body.from_)),
        initial=body.initial,
        last_event_id=last_event_id,
    )


def _request(
    identifier: str,
    *,
    keys: tuple[dict[str, object], ...] | None,
    columns: tuple[str, ...] | None,
    cursor: str | None,
    begin: int | None,
    initial: bool,
    last_event_id: str | None,
) -> SubscriptionRequest:
    if cursor is not None and (begin is not None or initial):
        message = "a cursor is the beginning: leave out `from` and `initial`, or the cursor"
        raise _refused(field="cursor", value=cursor, message=message)
    if initial and begin is not None:
        message = (
            "the present rows are those of the newest snapshot: leave out `from`, or `initial`"
        )
        raise _refused(field="from", value=str(begin), message=message)
    if keys is not None and not keys:
        message = "expected at least one key"
        raise _refused(
            field=KEYS, value="[]", message=message, hint="leave it out to subscribe to all keys"
        )
    position: ChangedKeysPosition | None = None
    if last_event_id:
        # A client that connects again sends the address of its first request.
        position = parse_cursor(identifier, last_event_id, field="last-event-id")
    elif cursor is not None:
        position = parse_cursor(identifier, cursor, field="cursor")
    return SubscriptionRequest(
        keys=keys,
        columns=columns,
        position=position,
        from_snapshot=begin,
        initial=initial and position is None,
    )


def _from(text: str | None) -> int | None:
    if text is None or text == NOW:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
    if not is_number or int(text) > SNAPSHOT_ID_MAX:
        raise _refused(
            field="from",
            value=text,
            message="expected `now`, or the id of a snapshot, a whole number from 0",
        )
    return int(text)


def _keys_of(text: str) -> list[Mapping[str, str | int | float]]:
    """Return the keys of a parameter."""
    try:
        keys: Any = orjson.loads(text)
    except ValueError:
        keys = None
    is_list = isinstance(keys, list) and all(
        isinstance(key, dict)
        and all(isinstance(value, str | int | float) for value in key.values())
        for key in keys
    )
    if not is_list:
        message = (
            "expected a JSON list of keys, each an object with a text, number or boolean per column"
        )
        raise _refused(
            field=KEYS,
            value=text,
            message=message,
            hint='for example [{"id": 1}, {"id": 2}], percent-encoded',
        )
    if len(keys) > KEYS_MAX:
        message = f"expected at most {KEYS_MAX} keys, found {len(keys)}"
        raise _refused(
            field=KEYS,
            value=None,
            message=message,
            hint="subscribe to all keys, or in several requests",
        )
    return list(keys)


def _refused(
    *, field: str, value: str | None, message: str, hint: str | None = None
) -> InvalidRequest:
    problem = Problem(
        field=field, value=None if value is None else value[:200], message=message, hint=hint
    )
    return InvalidRequest(_SUMMARY, problems=[problem])
