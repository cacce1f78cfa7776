"""Codec of the `_FILE` record of a manifest.

The record is encoded to bytes. It is decoded from bytes, or from the dictionary of a general Avro
reader (`data_file_of`). There are functions for its statistics alone, because manifest lists have
such statistics too. Fields are in the order of `braid.lake.format.avro.schemas.DATA_FILE_FIELDS`.
Manifests of older Paimon releases have only the first 16, 18 or 20 of these fields; the missing
fields are read as None.

Source: table-format 5.2 and 21.
"""

from collections.abc import Mapping
from typing import Any, Final

from braid.lake.errors import CorruptData
from braid.lake.format.avro.binary import (
    NULL,
    PRESENT,
    AvroDecoder,
    encode_bytes,
    encode_long,
    encode_longs,
    encode_null_counts,
    encode_optional_bytes,
    encode_optional_long,
    encode_optional_strings,
    encode_strings,
)
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.null_counts import (
    Counts,
    EncodedCounts,
    read_counts,
    skip_counts,
    whole_counts,
)
from braid.lake.format.statistics import REDUCED_FROM, ReducedStats, SimpleStats

# Every release from 0.9 on writes at least this many fields; records with fewer are read as dictionaries.
FIELD_COUNT_MIN: Final = 16
_SOURCES: Final = {source.value: source for source in FileSource}


def encode_data_file(out: list[bytes], file: DataFileMeta) -> None:
    """Append the record of one file, all 21 fields."""
    encode_bytes(out, file.file_name.encode())
    out.append(encode_long(file.file_size))
    out.append(encode_long(file.row_count))
    encode_bytes(out, file.min_key)
    encode_bytes(out, file.max_key)
    encode_stats(out, file.key_stats)
    encode_stats(out, file.value_stats)
    out.append(encode_long(file.min_sequence_number))
    out.append(encode_long(file.max_sequence_number))
    out.append(encode_long(file.schema_id))
    out.append(encode_long(file.level))
    encode_strings(out, file.extra_files)
    out.append(encode_optional_long(file.creation_time_ms))
    out.append(encode_optional_long(file.delete_row_count))
    encode_optional_bytes(out, file.embedded_file_index)
    out.append(encode_optional_long(file.file_source))
    encode_optional_strings(out, file.value_stats_cols)
    encode_optional_bytes(out, file.external_path.encode() if file.external_path else None)
    out.append(encode_optional_long(file.first_row_id))
    encode_optional_strings(out, file.write_cols)
    if file.write_cols_sequences is None:
        out.append(NULL)
    else:
        out.append(PRESENT)
        encode_longs(out, file.write_cols_sequences)


def encode_stats(out: list[bytes], stats: SimpleStats) -> None:
    """Append a statistics record.

    Requires:
        The statistics are not reduced.
    """
    assert not isinstance(stats, ReducedStats), "only whole statistics are written"
    encode_bytes(out, stats.min_values)
    encode_bytes(out, stats.max_values)
    out.append(PRESENT)
    if isinstance(stats.null_counts, EncodedCounts):
        out.append(stats.null_counts.encoded)
    else:
        encode_null_counts(out, stats.null_counts)


def decode_data_file(
    decoder: AvroDecoder, field_count: int, *, is_reduced: bool = False, has_counts: bool = True
) -> DataFileMeta:
    """Return the next file, from a record with the first `field_count` fields (16 to 21).

    Args:
        decoder: At the record.
        field_count: Number of fields of the record.
        is_reduced: Whether large value statistics are reduced.
        has_counts: Whether reduced statistics tell which columns hold only nulls.

    Raises:
        IndexError: The bytes end early.
        UnicodeDecodeError: A text is not UTF-8.
        CorruptData: The file has an unknown source.
    """
    assert FIELD_COUNT_MIN <= field_count <= 21, field_count
    long, byte_string = decoder.long, decoder.byte_string
    # Arguments are in the order of the record, because Python evaluates them in the order of the text.
    return DataFileMeta(
        file_name=decoder.string(),
        file_size=long(),
        row_count=(rows := long()),
        min_key=byte_string(),
        max_key=byte_string(),
        key_stats=_decode_stats(decoder),
        value_stats=(
            _decode_reduced(decoder, rows, has_counts=has_counts)
            if is_reduced
            else _decode_stats(decoder)
        ),
        min_sequence_number=long(),
        max_sequence_number=long(),
        schema_id=long(),
        level=long(),
        extra_files=decoder.strings(),
        creation_time_ms=decoder.optional_long(),
        delete_row_count=decoder.optional_long(),
        embedded_file_index=decoder.optional_bytes(),
        file_source=parse_source(decoder.optional_long()),
        value_stats_cols=decoder.optional_strings() if field_count > 16 else None,
        external_path=decoder.optional_string() if field_count > 17 else None,
        first_row_id=decoder.optional_long() if field_count > 18 else None,
        write_cols=decoder.optional_strings() if field_count > 19 else None,
        write_cols_sequences=(
            decoder.longs() if field_count > 20 and decoder.is_present() else None
        ),
    )


def skip_data_file(decoder: AvroDecoder, field_count: int) -> None:
    """Advance past the next file; raises as `decode_data_file`, except for an unknown source."""
    skip = decoder.skip_bytes
    skip()  # name
    decoder.skip_longs(2)
    skip()  # keys
    skip()
    for _ in range(2):
        skip()
        skip()
        if decoder.is_present():
            skip_counts(decoder)
    decoder.skip_longs(4)
    decoder.skip_strings()
    decoder.skip_optional_longs(2)
    if decoder.is_present():
        skip()
    decoder.skip_optional_longs(1)
    if field_count > 16 and decoder.is_present():
        decoder.skip_strings()
    if field_count > 17 and decoder.is_present():
        skip()
    if field_count > 18:
        decoder.skip_optional_longs(1)
    if field_count > 19 and decoder.is_present():
        decoder.skip_strings()
    if field_count > 20 and decoder.is_present():
        decoder.longs()


def _decode_stats(decoder: AvroDecoder) -> SimpleStats:
    return SimpleStats(
        min_values=decoder.byte_string(),
        max_values=decoder.byte_string(),
        null_counts=read_counts(decoder) if decoder.is_present() else (),
    )


def _decode_reduced(decoder: AvroDecoder, rows: int, *, has_counts: bool) -> SimpleStats:
    """Return the next statistics, reduced if they are large, whose bounds are then not copied."""
    start = decoder.position
    if decoder.skip_bytes() + decoder.skip_bytes() < REDUCED_FROM:
        decoder.position = start
        return _decode_stats(decoder)
    counts: Counts = ()
    if decoder.is_present():
        if has_counts:
            counts = whole_counts(read_counts(decoder), rows)
        else:
            skip_counts(decoder)
    return ReducedStats(min_values=EMPTY_ROW, max_values=EMPTY_ROW, null_counts=counts)


def data_file_of(record: Mapping[str, Any]) -> DataFileMeta:
    """Return the file of a record, which has the schema that this engine writes."""
    return DataFileMeta(
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        min_key=record["_MIN_KEY"],
        max_key=record["_MAX_KEY"],
        key_stats=stats_of(record["_KEY_STATS"]),
        value_stats=stats_of(record["_VALUE_STATS"]),
        min_sequence_number=record["_MIN_SEQUENCE_NUMBER"],
        max_sequence_number=record["_MAX_SEQUENCE_NUMBER"],
        schema_id=record["_SCHEMA_ID"],
        level=record["_LEVEL"],
        extra_files=tuple(record["_EXTRA_FILES"]),
        creation_time_ms=record["_CREATION_TIME"],
        delete_row_count=record["_DELETE_ROW_COUNT"],
        embedded_file_index=record["_EMBEDDED_FILE_INDEX"],
        file_source=parse_source(record["_FILE_SOURCE"]),
        value_stats_cols=_tuple_of(record["_VALUE_STATS_COLS"]),
        external_path=record["_EXTERNAL_PATH"],
        first_row_id=record["_FIRST_ROW_ID"],
        write_cols=_tuple_of(record["_WRITE_COLS"]),
        write_cols_sequences=_tuple_of(record["_WRITE_COLS_SEQUENCES"]),
    )


def stats_of(record: Mapping[str, Any]) -> SimpleStats:
    """Return the statistics of a record."""
    return SimpleStats(
        min_values=record["_MIN_VALUES"],
        max_values=record["_MAX_VALUES"],
        null_counts=tuple(record["_NULL_COUNTS"] or ()),
    )


def stats_record(stats: SimpleStats) -> dict[str, object]:
    """Return the record of the statistics."""
    return {
        "_MIN_VALUES": stats.min_values,
        "_MAX_VALUES": stats.max_values,
        "_NULL_COUNTS": list(stats.null_counts),
    }


def parse_source(number: int | None) -> FileSource | None:
    """Return the source with a number.

    Raises:
        CorruptData: There is no such source.
    """
    if number is None:
        return None
    source = _SOURCES.get(number)
    if source is None:
        text = f"a data file has the file source {number}, expected one of {list(_SOURCES)}"
        raise CorruptData(text)
    return source


def _tuple_of(values: Any) -> Any:
    return None if values is None else tuple(values)
