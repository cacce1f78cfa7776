"""Directory names of partitions and buckets, derived from the partition's row.

Readers derive the path from the row in the manifest, so all writers have to spell values in exactly the
same way. Floating-point numbers are spelled as by Java's `toString`, decimals without an exponent, null and
blank text as `partition.default-name`. By default a date is a number of days, a time a number of milliseconds,
and a timestamp the text of Java's `LocalDateTime`; if `partition.legacy-name` is false, all three are spelled
as casts to text spell them. The resulting texts are escaped.

`partition_label` names a partition in messages. Null, blank texts and the text of
`partition.default-name` share a directory, but have different labels.

Source: table-format 10.
"""

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

import numpy as np

from braid.lake.errors import UnsupportedFeature
from braid.lake.format.binary_row import EPOCH, decode_row
from braid.lake.format.data_types import TIMESTAMP_ROOTS, DataField, TypeRoot
from braid.lake.format.java_text import java_float_text
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import POSTPONE_BUCKET

_ESCAPED: Final = re.compile("[\\x00-\\x1f\"#%'*/:=?\\\\\\x7f{}\\[\\]^]")


def partition_directory(partition: bytes, schema: TableSchema) -> str:
    """Return `p=a/q=b`, or the empty text for an unpartitioned table.

    Args:
        partition: Serialised binary row of the partition columns.
        schema: Schema of the table, with the options for the spelling of values.

    Raises:
        CorruptData: The row has another arity.
        UnsupportedFeature: A date is not in the years 1 to 9999, or a column is of a binary type.
    """
    options = schema.table_options
    parts: list[str] = []
    values = decode_row(partition, schema.partition_fields)
    for field, value in zip(schema.partition_fields, values, strict=True):
        text = _value_text(field, value, is_legacy=options.partition_legacy_name)
        if _is_blank(text):
            text = options.partition_default_name
        parts.append(f"{escape(field.name)}={escape(text)}")
    return "/".join(parts)


def partition_label(partition: bytes, schema: TableSchema) -> str:
    """Return a text for a partition, for messages; mostly its directory.

    Null, blank texts and the text that replaces them in paths share a directory. The label of null is the
    directory. The label of such a text is the directory and the text: `p=__DEFAULT_PARTITION__ (p=' ')`.

    Raises:
        CorruptData, UnsupportedFeature: As in `partition_directory`.
    """
    values = decode_row(partition, schema.partition_fields)
    alike = [
        f"{field.name}={value!r}"
        for field, value in zip(schema.partition_fields, values, strict=True)
        if isinstance(value, str)
        and (_is_blank(value) or value == schema.table_options.partition_default_name)
    ]
    directory = partition_directory(partition, schema)
    return f"{directory} ({', '.join(alike)})" if alike else directory


def bucket_directory(partition: bytes, bucket: int, schema: TableSchema) -> str:
    """Return the directory of a bucket under the table, `p=a/q=b/bucket-0`.

    Raises:
        CorruptData, UnsupportedFeature: As in `partition_directory`.
    """
    name = "bucket-postpone" if bucket == POSTPONE_BUCKET else f"bucket-{bucket}"
    prefix = schema.table_options.data_file_path_directory
    parts = (prefix and prefix.strip("/"), partition_directory(partition, schema), name)
    return "/".join(part for part in parts if part)


def escape(text: str) -> str:
    """Return the text, with `%XX` for each character that a path cannot have."""
    return _ESCAPED.sub(lambda match: f"%{ord(match.group()):02X}", text)


def _is_blank(text: str) -> bool:
    # Java's whitespace, which excludes the no-break spaces and next-line.
    return all(char.isspace() and char not in "\x85\xa0\u2007\u202f" for char in text)


def _value_text(field: DataField, value: object, *, is_legacy: bool) -> str:
    root = field.type.root
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return java_float_text(np.float32(value) if root is TypeRoot.FLOAT else value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return _timestamp_text(field, _nanoseconds(value), is_legacy=is_legacy)
        case date():
            return str((value - EPOCH.date()).days) if is_legacy else value.isoformat()
        case time():
            return _time_text(field, value, is_legacy=is_legacy)
        case int() if root in TIMESTAMP_ROOTS:
            return _timestamp_text(field, value, is_legacy=is_legacy)
        case int():
            return str(value)
        case _:
            text = f"values of partition column `{field.name}` of type `{field.type}` cannot name a directory"
            raise UnsupportedFeature(text)


def _nanoseconds(value: datetime) -> int:
    return (value.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1) * 1_000


def _timestamp_text(field: DataField, nanoseconds: int, *, is_legacy: bool) -> str:
    """Return the text of a timestamp, in UTC for one with local time zone."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = EPOCH + timedelta(seconds=seconds)
    digits = f"{fraction:09}"
    # `isoformat` fills up the years before 1000 to four digits, unlike `strftime`.
    if not is_legacy:
        precision = field.type.precision or 0
        kept = digits[:precision] + digits[precision:].rstrip("0")
        return moment.isoformat(" ", "seconds") + (f".{kept}" if kept else "")
    # As Java's LocalDateTime: fractions in groups of three digits, seconds only if they are not zero.
    while digits.endswith("000"):
        digits = digits[:-3]
    if digits:
        return f"{moment.isoformat(timespec='seconds')}.{digits}"
    return moment.isoformat(timespec="seconds" if moment.second else "minutes")


def _time_text(field: DataField, value: time, *, is_legacy: bool) -> str:
    if is_legacy:
        since_midnight = datetime.combine(EPOCH, value) - EPOCH
        return str(since_midnight // timedelta(milliseconds=1))
    precision = field.type.precision or 0
    if precision == 0:
        return f"{value:%H:%M:%S}"
    # Unlike timestamps, times have no trailing zeros, but at least one digit.
    digits = f"{value.microsecond // 1_000:03}".rstrip("0") or "0"
    return f"{value:%H:%M:%S}.{digits[:precision]}"
