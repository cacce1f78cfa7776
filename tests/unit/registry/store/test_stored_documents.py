"""Documents that older and newer versions of this software share."""

from typing import Any

import orjson
import pytest

from braid.lake import CorruptData, ManualClock, MemoryFileIO
from braid.registry.errors import FeaturesMissing
from braid.registry.store.documents import RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.stored_documents import (
    BATCH_BYTES,
    CHANGE_CAPTURE,
    COMPUTED_COLUMNS,
    CONSUMER_GROUPS,
    DEAD_LETTER_BUDGETS,
    KEY_FORMATS,
    MESSAGE_FORMATS,
    OFFSETS_EXPIRED,
    ON_MISSING,
    PART_CONDITIONS,
    PLACEMENT,
    RECORD_KINDS,
    RECORD_PARTS,
    ROW_TTL,
    SCHEMA_FORMATS,
    SCHEMA_REGISTRIES,
    START_ANEW,
    TABLE_TESTS,
    TIME_FORMATS,
    TRIGGERS,
    UNORDERED_COLUMNS,
    VARIANT_COLUMNS,
    VIEWS,
    dump_document,
    features_of,
    missing_features,
    parse_document,
    with_table_features,
)
from braid.schemas import (
    AvroFormat,
    CanalFormat,
    ColumnSource,
    ColumnSpec,
    CsvFormat,
    DeadLetterBudgetSpec,
    Expectation,
    IntervalTrigger,
    JsonFormat,
    KeyFormat,
    MaxwellFormat,
    OnDelete,
    OnMissing,
    OnOffsetsExpired,
    PendingSchema,
    PlacementSpec,
    ProtobufFormat,
    RowTtlSpec,
    SequenceGroupSpec,
    StreamColumn,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
    TableTest,
    TableTests,
    Unordered,
    ViewColumn,
    ViewSpec,
)

STREAM = StreamSpec(name="s", topic="t", columns=(StreamColumn(column="k"),), dead_letter_topic="d")
DOCUMENT = TableDocument(
    database="shop",
    name="orders",
    table=TableSpec(
        columns=(ColumnSpec(name="k", type="INT"), ColumnSpec(name="v", type="INT")),
        primary_key=("k",),
    ),
    streams={"s": StreamEntry(spec=STREAM)},
)


def stored(**unknown: Any) -> dict[str, Any]:
    """Return the document as a newer version has written it: with unknown fields everywhere."""
    content = DOCUMENT.model_dump(mode="json")
    content |= {"later": {"x": 1}, **unknown}
    content["table"]["later"] = [2]
    content["table"]["columns"][1]["later"] = 3
    content["streams"]["s"]["later"] = 4
    content["streams"]["s"]["spec"]["later"] = 5
    return content


def write(file_io: MemoryFileIO, content: object) -> None:
    path = "/w/_braid/tables/shop.orders/00000000000000000001.json"
    file_io.write_new(path, orjson.dumps(content))


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> RegistryStore:
    return RegistryStore(file_io, "/w", clock)


def test_unknown_fields_are_ignored_and_kept(store: RegistryStore, file_io: MemoryFileIO) -> None:
    write(file_io, stored())
    found = store.table("shop.orders")
    assert found is not None
    moved = found.value.table.model_copy(
        update={
            "columns": (ColumnSpec(name="new", type="INT"), *reversed(found.value.table.columns)),
            "comment": "changed",
        }
    )
    often = {"trigger_ms": 9, "trigger": IntervalTrigger(milliseconds=9)}
    replaced = StreamEntry(spec=STREAM.model_copy(update=often))
    changed = found.value.model_copy(update={"table": moved, "streams": {"s": replaced}})

    store.put_table(changed, expected_version=found.version)
    path = "/w/_braid/tables/shop.orders/00000000000000000002.json"
    content = orjson.loads(file_io.read_bytes(path))

    assert found.value == DOCUMENT
    assert content["later"] == {"x": 1}
    assert (content["table"]["later"], content["table"]["comment"]) == ([2], "changed")
    names = [(column["name"], column.get("later")) for column in content["table"]["columns"]]
    assert names == [("new", None), ("v", 3), ("k", None)]
    assert (content["streams"]["s"]["later"], content["streams"]["s"]["spec"]["later"]) == (4, 5)
    assert content["streams"]["s"]["spec"]["trigger_ms"] == 9
    newest = store.table("shop.orders")
    assert newest is not None
    assert newest.value == changed


def test_unknown_fields_go_with_what_they_belong_to() -> None:
    before = orjson.dumps(stored())
    without = DOCUMENT.model_copy(update={"streams": {}})

    gone = dump_document(without, before=before, write_id="1")
    back = orjson.loads(dump_document(DOCUMENT, before=gone, write_id="2"))

    assert "later" not in back["streams"]["s"]
    assert (back["later"], back["write_id"]) == ({"x": 1}, "2")


def test_missing_features_forbid_running_and_changing() -> None:
    entry = StreamEntry(spec=STREAM, features=("time-travel",))
    document = DOCUMENT.model_copy(update={"streams": {"a": entry, "b": DOCUMENT.streams["s"]}})

    assert missing_features(document, document.streams["a"]) == ("time-travel",)
    assert missing_features(document, document.streams["b"]) == ()
    assert missing_features(document) == ("time-travel",)
    of_all = DOCUMENT.model_copy(update={"features": ("z", "y")})
    assert missing_features(of_all, of_all.streams["s"]) == ("y", "z")


def test_a_document_that_needs_a_feature_to_be_read_reports_it() -> None:
    newer = stored(features=["bitemporal"])
    newer["table"]["merge_engine"] = "bitemporal"

    with pytest.raises(
        FeaturesMissing, match="needs features that this version does not have: bitemporal"
    ):
        parse_document(orjson.dumps(newer), what="the document")
    del newer["features"]
    newer["streams"]["s"]["features"] = ["bitemporal"]
    with pytest.raises(FeaturesMissing, match="bitemporal"):
        parse_document(orjson.dumps(newer), what="the document")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"3", b'{"features": 1}', b'{"features": [[]], "streams": []}', b"\xff"]
)
def test_what_no_feature_explains_is_damage(data: bytes) -> None:
    with pytest.raises(CorruptData, match="the document") as caught:
        parse_document(data, what="the document")
    assert "\n" not in str(caught.value), "it is one line of a log"


def test_a_table_of_a_newer_version_harms_no_other(
    store: RegistryStore, file_io: MemoryFileIO
) -> None:
    write(file_io, {"features": ["bitemporal"]})
    other = DOCUMENT.model_copy(update={"name": "items"})
    store.put_table(other, expected_version=None)

    found = store.tables()

    assert (found.documents, found.unreadable) == ((other,), {})
    assert [*found.newer] == ["shop.orders"]


def test_reports_and_leases_of_newer_versions_are_read(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    said = {"state": "RUNNING", "later": 1}
    report = {"runner": "r", "started_ms": 0, "updated_ms": 1, "streams": {"a.b/s": said}, "x": 2}
    file_io.overwrite("/w/_braid/runners/r.json", orjson.dumps(report))
    record = {"owner": "o", "ttl_ms": 5, "expires_ms": clock.now_ms() + 5, "later": 1}
    path = "/w/_braid/leases/a.b.s/00000000000000000001.json"
    file_io.write_new(path, orjson.dumps(record))

    (runner,) = ProgressStore(file_io, "/w", clock).read_all().runners
    holder = LeaseStore(file_io, "/w", clock).holder("a.b", "s")

    assert runner.streams["a.b/s"].state == "RUNNING"
    assert holder is not None
    assert holder.owner == "o"


def test_a_stream_of_another_format_than_json_needs_a_feature() -> None:
    csv = STREAM.model_copy(update={"format": CsvFormat(fields=("k",))})

    assert features_of(STREAM) == ()
    assert features_of(csv, besides=[START_ANEW]) == (MESSAGE_FORMATS, START_ANEW)
    assert features_of(STREAM, besides=[START_ANEW, MESSAGE_FORMATS]) == (START_ANEW,)


@pytest.mark.parametrize(
    ("declared", "others"),
    [
        (AvroFormat.model_validate({"type": "avro", "schema": "{}"}), set()),
        (AvroFormat(schema_registry="shop"), {SCHEMA_REGISTRIES}),
        (ProtobufFormat(descriptor_set="CgA=", message="M"), set()),
        (ProtobufFormat(schema_registry="shop"), {SCHEMA_REGISTRIES}),
    ],
)
def test_a_stream_of_a_format_with_a_schema_needs_a_feature(
    declared: AvroFormat | ProtobufFormat, others: set[str]
) -> None:
    stream = STREAM.model_copy(update={"format": declared})

    assert set(features_of(stream)) == {MESSAGE_FORMATS, SCHEMA_FORMATS} | others
    assert features_of(STREAM, besides=[SCHEMA_FORMATS]) == ()


def test_a_stream_with_a_schema_registry_needs_a_feature() -> None:
    registered = STREAM.model_copy(update={"format": JsonFormat(schema_registry="shop")})

    assert features_of(registered) == (SCHEMA_REGISTRIES,)
    assert features_of(STREAM, besides=[SCHEMA_REGISTRIES]) == ()


def test_json_is_stored_as_versions_without_other_formats_read_it() -> None:
    stored_format = DOCUMENT.model_dump(mode="json")["streams"]["s"]["spec"]["format"]

    assert stored_format == "json"


@pytest.mark.parametrize(
    "declared",
    [{"where": "a = 1"}, {"delete_when": "a = 1"}, {"on_tombstone": OnDelete.IGNORE}],
)
def test_a_stream_that_tells_records_apart_needs_a_feature(declared: dict[str, object]) -> None:
    stream = STREAM.model_copy(update=declared)

    assert features_of(stream) == (RECORD_KINDS,)
    assert features_of(STREAM, besides=[RECORD_KINDS]) == ()


@pytest.mark.parametrize("declared", [{"time_format": "epoch_ms"}, {"time_zone": "Europe/Berlin"}])
def test_a_stream_with_a_time_format_needs_a_feature(declared: dict[str, str]) -> None:
    columns = (StreamColumn.model_validate({"column": "k", **declared}),)

    assert features_of(STREAM.model_copy(update={"columns": columns})) == (TIME_FORMATS,)
    assert features_of(STREAM, besides=[TIME_FORMATS]) == ()


def test_a_stream_whose_keys_name_their_schemas_needs_features() -> None:
    key_format = KeyFormat(type="avro", schema_registry="shop")

    found = features_of(STREAM.model_copy(update={"key_format": key_format}))
    assert found == (KEY_FORMATS, SCHEMA_REGISTRIES)
    assert features_of(STREAM, besides=[KEY_FORMATS]) == ()


def test_a_stream_that_skips_expired_records_needs_a_feature() -> None:
    skipping = STREAM.model_copy(update={"on_offsets_expired": OnOffsetsExpired.SKIP})

    assert features_of(skipping) == (OFFSETS_EXPIRED,)
    assert features_of(STREAM, besides=[OFFSETS_EXPIRED]) == ()


def test_a_stream_that_reads_parts_of_records_needs_a_feature() -> None:
    def reading(source: ColumnSource) -> StreamSpec:
        columns = (StreamColumn(column="k"), StreamColumn(column="v", source=source))
        return STREAM.model_copy(update={"columns": columns})

    needed = {source: features_of(reading(source)) for source in ColumnSource}

    expected: dict[ColumnSource, tuple[str, ...]] = dict.fromkeys(ColumnSource, (RECORD_PARTS,))
    expected |= dict.fromkeys((ColumnSource.VALUE, ColumnSource.KEY), ())
    expected |= dict.fromkeys((ColumnSource.EXPRESSION, ColumnSource.CONSTANT), (COMPUTED_COLUMNS,))
    assert needed == expected
    assert features_of(STREAM, besides=[RECORD_PARTS]) == ()


def test_a_table_whose_rows_expire_needs_a_feature() -> None:
    expiring = DOCUMENT.table.model_copy(update={"row_ttl": RowTtlSpec(column="k", seconds=60)})
    pending = PendingSchema(schema_id=1, schema_file="", table=expiring, streams={})
    listing = DOCUMENT.model_copy(update={"features": ("other",)})

    found = [
        with_table_features(listing.model_copy(update=update)).features
        for update in ({}, {"table": expiring}, {"pending": pending})
    ]

    assert found == [("other",), ("other", ROW_TTL), ("other", ROW_TTL)]
    assert with_table_features(DOCUMENT.model_copy(update={"features": (ROW_TTL,)})) == DOCUMENT


def test_columns_that_may_be_unordered_are_a_feature_of_the_table() -> None:
    columns = tuple(
        one.model_copy(update={"unordered": Unordered.ALLOWED}) for one in DOCUMENT.table.columns
    )
    table = DOCUMENT.table.model_copy(update={"columns": columns})
    pending = PendingSchema(schema_id=1, schema_file="", table=table, streams={})

    found = [
        with_table_features(DOCUMENT.model_copy(update=update)).features
        for update in (
            {},
            {"table": table},
            {"pending": pending},
            {"features": (UNORDERED_COLUMNS,)},
        )
    ]

    assert found == [(), (UNORDERED_COLUMNS,), (UNORDERED_COLUMNS,), ()]


def test_feature_views_are_a_feature_of_the_table() -> None:
    view = ViewSpec(name="all", columns=(ViewColumn(column="k"),))
    viewed = DOCUMENT.table.model_copy(update={"views": (view,)})
    pending = PendingSchema(schema_id=1, schema_file="", table=viewed, streams={})

    found = [
        with_table_features(DOCUMENT.model_copy(update=update)).features
        for update in ({}, {"table": viewed}, {"pending": pending}, {"features": (VIEWS,)})
    ]

    assert found == [(), (VIEWS,), (VIEWS,), ()]


def test_variant_columns_are_a_feature_of_the_table() -> None:
    columns = DOCUMENT.table.columns
    found = [
        with_table_features(
            DOCUMENT.model_copy(
                update={
                    "table": DOCUMENT.table.model_copy(
                        update={"columns": (*columns, ColumnSpec(name="w", type=sql))}
                    )
                }
            )
        ).features
        for sql in ("variant", "ARRAY<ROW<a VARIANT>>", "ROW<variant INT>", "VARIANT OF WHAT")
    ]

    assert found == [(VARIANT_COLUMNS,), (VARIANT_COLUMNS,), (), ()]


def test_tests_are_a_feature_of_the_table() -> None:
    case = TableTest(name="a", expect=Expectation())
    tested = [
        DOCUMENT.table.model_copy(update={"tests": tests})
        for tests in (TableTests(cases=(case,)), TableTests(required=True))
    ]
    pending = PendingSchema(schema_id=1, schema_file="", table=tested[0], streams={})

    found = [
        with_table_features(DOCUMENT.model_copy(update=update)).features
        for update in (
            {},
            {"table": tested[0]},
            {"table": tested[1]},
            {"pending": pending},
            {"features": (TABLE_TESTS,)},
        )
    ]

    assert found == [(), (TABLE_TESTS,), (TABLE_TESTS,), (TABLE_TESTS,), ()]


def test_kept_columns_are_a_feature_of_the_table_and_missing_fields_of_the_stream() -> None:
    group = SequenceGroupSpec(name="g", columns=("v",), keep=("v",))
    kept = DOCUMENT.table.model_copy(update={"sequence_groups": (group,)})
    pending = PendingSchema(schema_id=1, schema_file="", table=kept, streams={})
    rejecting = StreamColumn(column="v", on_missing=OnMissing.REJECT)

    found = [
        with_table_features(DOCUMENT.model_copy(update=update)).features
        for update in ({}, {"table": kept}, {"pending": pending}, {"features": (ON_MISSING,)})
    ]

    assert found == [(), (ON_MISSING,), (ON_MISSING,), ()]
    assert features_of(STREAM) == ()
    assert features_of(STREAM.model_copy(update={"columns": (rejecting,)})) == (ON_MISSING,)
    assert features_of(STREAM, besides=[ON_MISSING]) == ()


@pytest.mark.parametrize(
    ("trigger", "needed"),
    [
        ({"type": "interval", "milliseconds": 100}, ()),
        ({"type": "available_now"}, (TRIGGERS,)),
        ({"type": "continuous"}, (TRIGGERS,)),
    ],
)
def test_a_stream_without_an_interval_needs_a_feature(
    trigger: dict[str, object], needed: tuple[str, ...]
) -> None:
    spec = StreamSpec.model_validate(STREAM.model_dump() | {"trigger": trigger})

    assert features_of(spec) == needed


@pytest.mark.parametrize(
    ("field", "value", "feature"),
    [
        ("max_bytes_per_batch", 1 << 20, BATCH_BYTES),
        ("mirror_consumer_group", "braid.s", CONSUMER_GROUPS),
    ],
)
def test_bounds_in_bytes_and_mirrors_need_a_feature(
    field: str, value: object, feature: str
) -> None:
    assert features_of(STREAM.model_copy(update={field: value})) == (feature,)


@pytest.mark.parametrize(
    ("condition", "others"), [("header(type) = 'x'", {PART_CONDITIONS}), ("header = 'x'", set())]
)
@pytest.mark.parametrize("field", ["where", "delete_when"])
def test_a_condition_over_parts_needs_a_feature(
    field: str, condition: str, others: set[str]
) -> None:
    assert {*features_of(STREAM.model_copy(update={field: condition}))} == {RECORD_KINDS, *others}


def test_a_stream_with_a_budget_of_dead_letters_needs_its_feature() -> None:
    budget = DeadLetterBudgetSpec(count=5)
    bounded = STREAM.model_copy(update={"dead_letter_budget": budget})

    assert features_of(bounded) == (DEAD_LETTER_BUDGETS,)
    assert features_of(STREAM, besides=[DEAD_LETTER_BUDGETS]) == ()


def test_a_stream_that_requires_labels_of_its_runner_needs_its_feature() -> None:
    placed = STREAM.model_copy(update={"placement": PlacementSpec(labels={"zone": "eu"})})

    assert features_of(placed) == (PLACEMENT,)


@pytest.mark.parametrize("declared", [MaxwellFormat(), CanalFormat()])
def test_a_stream_of_captured_changes_needs_a_feature(
    declared: MaxwellFormat | CanalFormat,
) -> None:
    stream = STREAM.model_copy(update={"format": declared})

    assert set(features_of(stream)) == {CHANGE_CAPTURE, MESSAGE_FORMATS, RECORD_KINDS}
