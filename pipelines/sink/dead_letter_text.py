"""Dead letters of refused records: a refined reason, and a message with column, found value, expected type.

Spark's checks give a reason and at most the name of a column. The rest is read from the raw record here;
this costs time, but refused records are few.
"""

import base64
import json
from typing import Final

from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.formats.json_explanations import explain_key, explain_message, explain_value
from braid.formats.json_message import read_message
from braid.formats.mapped_column import MappedColumn
from braid.pipelines.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.pipelines.partition_names import partition_bytes_max
from braid.pipelines.record_columns import (
    DETAIL,
    KEY,
    OFFSET,
    PARTITION,
    PARTITION_TOO_LONG,
    RAW_HEADERS,
    RAW_KEY,
    RAW_VALUE,
    REASON,
    UNPARSABLE,
)
from braid.pipelines.stream_plan import StreamPlan

# Without the parsed values: Python cannot represent all that Spark can.
LETTER_COLUMNS: Final = [PARTITION, OFFSET, REASON, DETAIL, RAW_KEY, RAW_VALUE, RAW_HEADERS]
"""The columns of parsed records that a dead letter is made of."""

# Bounds of a message about undeclared fields: the number of names, and the length of each.
_NAMES_MAX: Final = 10
_NAME_MAX: Final = 100
_SHOWN_MAX: Final = 80
_MESSAGES: Final = {
    DeadLetterReason.TOMBSTONE: "the record has no value; a delete has to be a record whose value has a row kind",
    DeadLetterReason.MISSING_KEY: "key column {} is missing or null",
    DeadLetterReason.NOT_NULL: "column {} is NOT NULL and missing or null",
    DeadLetterReason.NULL_ORDERING: "all ordering columns are null: {}",
    DeadLetterReason.OUT_OF_RANGE: "the value for column {} is out of its type's range",
    DeadLetterReason.WRONG_TYPE: "the value for column {} is not of its type",
}


def dead_letter(record: dict[str, object], plan: StreamPlan) -> DeadLetter:
    """Return the dead letter of a refused record.

    Args:
        record: The values of `LETTER_COLUMNS`; the reason is not null.
        plan: The plan that the record was parsed by.
    """
    key, value = record[RAW_KEY], record[RAW_VALUE]
    if record[REASON] == UNPARSABLE:
        assert isinstance(value, bytes), "an unparsable record carries its value"
        reason, message = explain_message(value, plan.value_columns)
    elif record[REASON] == PARTITION_TOO_LONG:
        column = str(record[DETAIL])
        reason = DeadLetterReason.OUT_OF_RANGE
        message = (
            f"the value for partition column {column} is too long to name a directory: more "
            f"than {partition_bytes_max(column)} bytes of UTF-8, percent-escaped"
        )
    else:
        reason = DeadLetterReason(str(record[REASON]))
        message = _message(reason, record[DETAIL], key, value, plan)
    return DeadLetter(
        topic=plan.spec.topic,
        partition=int(str(record[PARTITION])),
        offset=int(str(record[OFFSET])),
        reason=reason,
        # Names of fields, like values, may have unpaired surrogates.
        message=utf8_text(message),
        key=key if isinstance(key, bytes) else None,
        value=value if isinstance(value, bytes) else None,
        headers=_headers(record[RAW_HEADERS]),
    )


def utf8_text(text: str) -> str:
    """Return a text with its unpaired surrogates, which UTF-8 cannot hold, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _message(
    reason: DeadLetterReason, detail: object, key: object, value: object, plan: StreamPlan
) -> str:
    if reason is DeadLetterReason.MALFORMED_KEY:
        assert isinstance(key, bytes), "a record with a malformed key carries it"
        return explain_key(key, next(c for c in plan.key_columns if c.name == detail))
    if reason is DeadLetterReason.UNREADABLE:
        return str(detail)
    if reason is DeadLetterReason.NEW_FIELD:
        # The reader in Python gives a detail; the check in the JVM gives none.
        return str(detail) if detail is not None else _new_fields(value, plan)
    if reason is DeadLetterReason.TOO_LARGE and detail == KEY:
        names = ", ".join(plan.columns[index].name for index in plan.long_key_columns)
        return (
            f"the texts and bytes of the key ({names}) have more than {plan.key_bytes_max} bytes "
            "together, the table's `braid.key.max-bytes`"
        )
    if reason is DeadLetterReason.ROW_KIND:
        found = _shown_field(value, next(c for c in plan.columns if c.name == detail))
        kinds = ", ".join(plan.row_kinds)
        return f"column {detail} holds the row kind: expected one of {kinds}, found {found}"
    if reason is DeadLetterReason.REFUSED_ROW:
        return f"the table refuses the row: {detail}"
    if reason is DeadLetterReason.TOO_LARGE and isinstance(value, bytes):
        limit = plan.spec.max_message_bytes
        return f"the value has {len(value)} bytes, max_message_bytes is {limit}"
    text = None
    if reason in (DeadLetterReason.OUT_OF_RANGE, DeadLetterReason.WRONG_TYPE):
        column = next((c for c in plan.value_columns if c.name == detail), None)
        if column is not None and isinstance(value, bytes):
            text = explain_value(value, column)
    # Python's parser may find no fault in what Spark refused: the letter then has the bare reason.
    return text or _MESSAGES[reason].format(detail)


def _shown_field(value: object, column: MappedColumn) -> str:
    """Return the value that a message has for a column, as JSON."""
    if column.from_key:
        return "something else"
    assert isinstance(value, bytes), "a parsed record that is refused carries its value"
    found = read_message(value)
    for name in column.path:
        found = found.get(name) if isinstance(found, dict) else None
    return json.dumps(found, default=str)[:_SHOWN_MAX]


def _new_fields(value: object, plan: StreamPlan) -> str:
    """Return a sentence with the fields of a rejected message that are not declared."""
    assert isinstance(value, bytes), "a rejected record carries its value"
    found = UndeclaredFieldReader(plan=plan).undeclared(read_message(value))
    shown = ", ".join(address[:_NAME_MAX] for address in found[:_NAMES_MAX])
    more = f" and {len(found) - _NAMES_MAX} more" if len(found) > _NAMES_MAX else ""
    return f"the stream does not declare: {shown}{more}"


def _headers(text: object) -> tuple[tuple[str, bytes | None], ...]:
    """Return a record's headers from Spark's JSON, which has bytes in base64 and no nulls."""
    headers = [] if text is None else json.loads(str(text))
    return tuple(
        (header["key"], base64.b64decode(header["value"]) if "value" in header else None)
        for header in headers
    )
