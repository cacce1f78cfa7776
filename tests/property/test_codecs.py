"""Every codec of the format decodes what it has encoded to an equal value."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import decode_row, decode_rows, encode_row, encode_rows
from braid.lake.format.bucket import bucket_hashes
from braid.lake.format.commit_message import CommitMessage, parse_messages, serialize_messages
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    DataField,
    DataType,
    TypeRoot,
    assign_field_ids,
)
from braid.lake.format.indexes.index_manifest import (
    DeletionVectorRange,
    IndexManifestEntry,
    decode_index_manifest,
    encode_index_manifest,
)
from braid.lake.format.manifest import FileKind, ManifestEntry, decode_manifest, encode_manifest
from braid.lake.format.manifest_list import (
    ManifestFileMeta,
    decode_manifest_list,
    encode_manifest_list,
)
from braid.lake.format.schema import TableSchema, parse_schema, serialize_schema
from braid.lake.format.snapshot import CommitKind, Snapshot, parse_snapshot, serialize_snapshot
from braid.lake.format.statistics import SimpleStats, round_up_text
from braid.lake.format.type_codec import parse_type, type_to_json

SETTINGS = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
COUNTS = st.integers(0, 2**62)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OPTIONAL_NAMES = st.none() | NAMES
NULLABLE = st.booleans()

_ATOMIC_WORDS = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING", "BYTES",
    "CHAR(3)", "VARCHAR(10)", "BINARY(3)", "VARBINARY(10)", "TIME(0)", "TIME(3)",
]  # fmt: skip
_DECIMALS = st.integers(1, 38).flatmap(
    lambda p: st.integers(0, p).map(lambda s: f"DECIMAL({p}, {s})")
)
_TIMESTAMPS = st.builds(
    "{}({})".format, st.sampled_from(["TIMESTAMP", "TIMESTAMP_LTZ"]), st.integers(0, 9)
)
ATOMIC_TYPES = st.builds(
    lambda text, nullable: parse_type(text).with_nullable(nullable),
    st.sampled_from(_ATOMIC_WORDS) | _DECIMALS | _TIMESTAMPS,
    NULLABLE,
)


def _nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    row_fields = st.lists(st.builds(DataField, id=COUNTS, name=NAMES, type=inner), max_size=3)
    return st.one_of(
        st.builds(DataType, root=st.just(TypeRoot.ARRAY), nullable=NULLABLE, element=inner),
        st.builds(DataType, root=st.just(TypeRoot.MULTISET), nullable=NULLABLE, element=inner),
        st.builds(DataType, root=st.just(TypeRoot.MAP), nullable=NULLABLE, key=inner, value=inner),
        st.builds(
            DataType, root=st.just(TypeRoot.ROW), nullable=NULLABLE, fields=row_fields.map(tuple)
        ),
    )


TYPES = st.recursive(ATOMIC_TYPES, _nested, max_leaves=5)
STATS = st.builds(
    SimpleStats,
    min_values=st.binary(),
    max_values=st.binary(),
    null_counts=st.lists(st.none() | COUNTS | st.integers(0, 63)).map(tuple),
)
FILES = st.builds(
    DataFileMeta,
    file_name=NAMES,
    file_size=COUNTS,
    row_count=COUNTS,
    min_key=st.binary(),
    max_key=st.binary(max_size=300),
    key_stats=STATS,
    value_stats=STATS,
    min_sequence_number=LONGS,
    max_sequence_number=LONGS,
    schema_id=COUNTS,
    level=INTS,
    extra_files=st.lists(NAMES, max_size=3).map(tuple),
    creation_time_ms=st.none() | INTS,
    delete_row_count=st.none() | COUNTS,
    embedded_file_index=st.none() | st.binary(),
    file_source=st.none() | st.sampled_from(FileSource),
    value_stats_cols=st.none() | st.lists(NAMES).map(tuple),
)
ENTRIES = st.builds(
    ManifestEntry,
    kind=st.sampled_from(FileKind),
    partition=st.binary(),
    bucket=INTS,
    total_buckets=INTS,
    file=FILES,
)
CODECS = st.sampled_from(["zstandard", "deflate", "null"])


def _values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Return values that pa.array takes for the Arrow form; temporal ones as numbers."""
    arrow_type = to_arrow_type(data_type)
    if data_type.root in TEXT_ROOTS:
        return st.text(st.characters(exclude_categories=["Cs"]))
    if data_type.root in BYTES_ROOTS:
        return st.binary()
    if data_type.root is TypeRoot.DECIMAL:
        bound = 10**arrow_type.precision - 1
        scale = arrow_type.scale
        return st.integers(-bound, bound).map(lambda unscaled: _decimal(unscaled, scale))
    if data_type.root is TypeRoot.BOOLEAN:
        return st.booleans()
    if pa.types.is_floating(arrow_type):
        return st.floats(allow_nan=False, width=arrow_type.bit_width)
    if pa.types.is_time(arrow_type):
        return st.integers(0, 86_399_999)
    if pa.types.is_temporal(arrow_type):
        return st.integers(-700_000, 2_900_000)  # the years of Python's dates
    bits = arrow_type.bit_width
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


@st.composite
def _columns(draw: st.DrawFn) -> tuple[list[DataField], list[pa.Array]]:
    types = draw(st.lists(ATOMIC_TYPES, min_size=1, max_size=6)) * draw(
        st.sampled_from([1, 1, 12])  # more than 56 fields take a longer header
    )
    row_count = draw(st.integers(0, 4))
    columns = [
        pa.array(
            draw(st.lists(st.none() | _values(type_), min_size=row_count, max_size=row_count)),
            to_arrow_type(type_),
        )
        for type_ in types
    ]
    return [DataField(name=str(n), type=type_) for n, type_ in enumerate(types)], columns


@SETTINGS
@given(TYPES)
def test_types(data_type: DataType) -> None:
    assert parse_type(type_to_json(data_type)) == data_type


@SETTINGS
@given(_columns())
def test_rows_as_columns(given_columns: tuple[list[DataField], list[pa.Array]]) -> None:
    fields, columns = given_columns

    decoded = decode_rows(encode_rows(columns, fields), fields)

    assert [column.combine_chunks() for column in decoded.columns] == columns


@SETTINGS
@given(_columns())
def test_rows_one_by_one(given_columns: tuple[list[DataField], list[pa.Array]]) -> None:
    fields, columns = given_columns

    for row in encode_rows(columns, fields):
        assert encode_row(decode_row(row, fields), fields) == row


@SETTINGS
@given(_columns(), st.integers(0, 4))
def test_hashes_do_not_depend_on_chunks(
    given_columns: tuple[list[DataField], list[pa.Array]], cut: int
) -> None:
    fields, columns = given_columns
    chunked = [pa.chunked_array([column.slice(0, cut), column.slice(cut)]) for column in columns]

    assert bucket_hashes(chunked, fields).tolist() == bucket_hashes(columns, fields).tolist()


@SETTINGS
@given(st.lists(ENTRIES, max_size=5), CODECS)
def test_manifests(entries: list[ManifestEntry], codec: str) -> None:
    assert decode_manifest(encode_manifest(entries, codec)) == entries


@SETTINGS
@given(
    st.lists(
        st.builds(
            ManifestFileMeta,
            file_name=NAMES,
            file_size=COUNTS,
            num_added_files=COUNTS,
            num_deleted_files=COUNTS,
            partition_stats=STATS,
            schema_id=COUNTS,
            min_bucket=st.none() | INTS,
            max_bucket=st.none() | INTS,
            min_level=st.none() | INTS,
            max_level=st.none() | INTS,
        ),
        max_size=5,
    ),
    CODECS,
)
def test_manifest_lists(manifests: list[ManifestFileMeta], codec: str) -> None:
    assert decode_manifest_list(encode_manifest_list(manifests, codec)) == manifests


@SETTINGS
@given(
    st.lists(
        st.builds(
            IndexManifestEntry,
            partition=st.binary(),
            bucket=INTS,
            index_type=NAMES,
            file_name=NAMES,
            file_size=COUNTS,
            row_count=COUNTS,
            deletion_vector_ranges=st.none()
            | st.lists(
                st.builds(
                    DeletionVectorRange,
                    data_file_name=NAMES,
                    offset=INTS,
                    length=INTS,
                    cardinality=st.none() | COUNTS,
                ),
                max_size=3,
            ).map(tuple),
            external_path=OPTIONAL_NAMES,
        ),
        max_size=3,
    )
)
def test_index_manifests(entries: list[IndexManifestEntry]) -> None:
    assert decode_index_manifest(encode_index_manifest(entries)) == entries


@SETTINGS
@given(
    st.lists(
        st.builds(
            CommitMessage,
            partition=st.binary(),
            bucket=INTS,
            total_buckets=INTS,
            schema_id=COUNTS,
            new_files=st.lists(FILES, max_size=3).map(tuple),
            compact_before=st.lists(FILES, max_size=2).map(tuple),
        ),
        max_size=3,
    )
)
def test_commit_messages(messages: list[CommitMessage]) -> None:
    assert parse_messages(serialize_messages(messages)) == tuple(messages)


@SETTINGS
@given(
    st.builds(
        Snapshot,
        uuid=OPTIONAL_NAMES,
        id=COUNTS,
        schema_id=COUNTS,
        base_manifest_list=NAMES,
        base_manifest_list_size=st.none() | COUNTS,
        delta_manifest_list=NAMES,
        delta_manifest_list_size=st.none() | COUNTS,
        index_manifest=OPTIONAL_NAMES,
        commit_user=NAMES,
        commit_identifier=LONGS,
        commit_kind=st.sampled_from(CommitKind),
        time_millis=LONGS,
        total_record_count=COUNTS,
        delta_record_count=LONGS,
        watermark=st.none() | LONGS,
        properties=st.dictionaries(NAMES, NAMES, max_size=3),
        next_row_id=st.none() | COUNTS,
    )
)
def test_snapshots(snapshot: Snapshot) -> None:
    assert parse_snapshot(serialize_snapshot(snapshot)) == snapshot


@SETTINGS
@given(
    st.lists(st.builds(DataField, name=NAMES, type=TYPES, description=OPTIONAL_NAMES), max_size=5),
    st.dictionaries(NAMES, NAMES, max_size=3),
    OPTIONAL_NAMES,
)
def test_schemas(columns: list[DataField], options: dict[str, str], comment: str | None) -> None:
    fields = assign_field_ids(columns)
    schema = TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields),
        partition_keys=(),
        primary_keys=tuple(field.name for field in fields[:1]),
        options=options,
        comment=comment,
    )

    assert parse_schema(serialize_schema(schema)) == schema


@SETTINGS
@given(st.text(st.characters(exclude_categories=["Cs"]) | st.just("\U0010ffff")), st.integers(1, 5))
def test_a_rounded_text_is_never_below(text: str, length: int) -> None:
    upper = round_up_text(text, length)

    if upper is None:
        assert set(text[:length]) == {"\U0010ffff"}
    else:
        assert len(upper) <= length
        assert upper.encode() >= text.encode()
