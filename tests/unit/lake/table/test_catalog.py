"""The catalog: creating checks the whole declaration, opening checks what exists."""

import random

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    DataField,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
    parse_type,
)
from braid.lake.files.paths import TablePaths
from braid.lake.format.schema import serialize_schema
from tests.given_tables import given_schema
from tests.support.faulty_file_io import Died, FaultyFileIO


@pytest.fixture
def file_io() -> MemoryFileIO:
    """An empty storage."""
    return MemoryFileIO()


@pytest.fixture
def catalog(file_io: MemoryFileIO) -> Catalog:
    """A catalog in memory."""
    return Catalog("/wh", file_io=file_io, clock=ManualClock(start_ms=5), random=random.Random(1))


def test_a_created_table_has_the_declared_schema(catalog: Catalog, file_io: MemoryFileIO) -> None:
    row = {"type": "ROW", "fields": [{"id": 9, "name": "x", "type": "INT"}]}
    table = catalog.create_table(
        "shop.orders",
        columns=[
            ("id", "BIGINT"),
            ("d", parse_type("DATE")),
            DataField(name="r", type=parse_type(row)),
        ],
        primary_key=["id", "d"],
        partition_keys=["d"],
        options={"bucket": "4"},
        comment="orders",
    )

    schema = table.schema
    assert [(field.id, field.name, str(field.type)) for field in schema.fields] == [
        (0, "id", "BIGINT NOT NULL"),
        (1, "d", "DATE NOT NULL"),
        (2, "r", "ROW<`x` INT>"),
    ]
    assert (schema.id, schema.highest_field_id, schema.time_millis) == (0, 3, 5)
    assert (schema.primary_keys, schema.partition_keys) == (("id", "d"), ("d",))
    assert (schema.options, schema.comment) == ({"bucket": "4"}, "orders")
    assert table.path == "/wh/shop.db/orders"
    assert file_io.exists("/wh/shop.db/orders/schema/schema-0")


def given(catalog: Catalog, identifier: str = "db.t", **options: str) -> None:
    """Create a table (k, v)."""
    catalog.create_table(
        identifier,
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "1", **options},
    )


def test_a_table_is_opened_by_name(catalog: Catalog) -> None:
    given(catalog)

    assert catalog.table("db.t").identifier == "db.t"
    assert catalog.table("db.t").schema.field_names == ("k", "v")


def test_an_existing_table_is_not_created_again(catalog: Catalog) -> None:
    given(catalog)

    with pytest.raises(TableExists, match=r"db\.t exists at /wh/db\.db/t"):
        given(catalog)


def test_if_not_exists_returns_an_existing_table_as_it_is(catalog: Catalog) -> None:
    given(catalog)
    table = catalog.create_table(
        "db.t",
        columns=[("other", "INT")],
        primary_key=["other"],
        options={"bucket": "1"},
        if_not_exists=True,
    )

    assert table.schema.field_names == ("k", "v")


def test_losing_the_race_to_create_a_table_is_like_finding_it(file_io: MemoryFileIO) -> None:
    class Racing(MemoryFileIO):
        def create_exclusive(self, path: str, data: bytes) -> bool:
            if path.endswith("schema-0") and not self.exists(path):
                other = given_schema({"theirs": "INT"}, key=["theirs"])
                super().create_exclusive(path, serialize_schema(other))
            return super().create_exclusive(path, data)

    with pytest.raises(TableExists):
        given(Catalog("/wh", file_io=Racing()))


def test_an_unknown_table_is_not_found(catalog: Catalog) -> None:
    with pytest.raises(TableNotFound, match=r"no table at /wh/db\.db/nope"):
        catalog.table("db.nope")
    with pytest.raises(TableNotFound, match=r"no table db\.nope"):
        catalog.drop_table("db.nope")


@pytest.mark.parametrize("identifier", ["t", "a.b.c", ".t", "db.", "d/b.t", "db.t$files", ""])
def test_names_that_cannot_be_read_are_refused(catalog: Catalog, identifier: str) -> None:
    with pytest.raises(InvalidRequest, match=r"expected `database\.table`"):
        catalog.table(identifier)


def test_tables_are_listed_in_order_and_only_tables(
    catalog: Catalog, file_io: MemoryFileIO
) -> None:
    for identifier in ("b.t", "a.z", "a.y"):
        given(catalog, identifier)
    file_io.write_new("/wh/a.db/no_table/readme", b"")
    file_io.write_new("/wh/_braid/tables/x", b"")

    assert catalog.list_tables() == ["a.y", "a.z", "b.t"]
    assert catalog.list_tables("a") == ["a.y", "a.z"]
    assert catalog.list_tables("nope") == []


def test_a_dropped_table_is_gone(catalog: Catalog, file_io: MemoryFileIO) -> None:
    given(catalog)
    catalog.drop_table("db.t")

    assert catalog.list_tables() == []
    assert file_io.list(TablePaths("/wh/db.db/t").schema_dir) == []


def test_an_interrupted_drop_leaves_no_table_for_a_new_one_to_adopt(
    file_io: MemoryFileIO,
) -> None:
    storage = FaultyFileIO(file_io)
    catalog = Catalog("/wh", file_io=storage)
    given(catalog)
    table = catalog.table("db.t")
    table.write_and_commit(
        pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([1], pa.int32())})
    )

    def fail(_number: int, method: str, _path: str) -> None:
        if method == "delete_tree":
            raise Died

    storage.before = fail
    with pytest.raises(Died):
        catalog.drop_table("db.t")
    later = Catalog("/wh", file_io=file_io)

    assert later.list_tables() == []
    with pytest.raises(TableExists, match="drop the table again"):
        given(later)
    later.drop_table("db.t")
    given(later)
    assert later.table("db.t").latest_snapshot() is None


@pytest.mark.parametrize(
    "left", ["snapshot/LATEST", "changelog/changelog-1", "tag/tag-a", "branch/branch-b/tag/tag-a", "consumer/consumer-c"]
)  # fmt: skip
def test_nothing_that_a_drop_has_left_is_adopted(
    catalog: Catalog, file_io: MemoryFileIO, left: str
) -> None:
    file_io.write_new(f"/wh/db.db/t/{left}", b"old")

    with pytest.raises(
        TableExists, match=f"/wh/db.db/t/{left.split('/', maxsplit=1)[0]} is left from a table"
    ):
        given(catalog)
    catalog.drop_table("db.t")
    given(catalog)

    assert not file_io.exists(f"/wh/db.db/t/{left}")


@pytest.mark.parametrize("left", ["manifest/m", "index/i", "bucket-0/f", "d=1/bucket-0/f"])
def test_files_that_nothing_refers_to_are_dropped_and_forbid_no_table(
    catalog: Catalog, file_io: MemoryFileIO, left: str
) -> None:
    file_io.write_new(f"/wh/db.db/t/{left}", b"old")
    catalog.drop_table("db.t")

    assert file_io.list("/wh/db.db/t") == []
    file_io.write_new(f"/wh/db.db/t/{left}", b"old")
    given(catalog)


def test_directories_of_others_are_not_dropped(catalog: Catalog, file_io: MemoryFileIO) -> None:
    file_io.write_new("/wh/db.db/t/notes/readme", b"mine")

    with pytest.raises(TableNotFound):
        catalog.drop_table("db.t")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bucket": "-2"}, UnsupportedFeature, "bucket"),
        ({"bucket-key": "k"}, InvalidRequest, "bucket-key"),
        ({"bucket": "nine"}, InvalidRequest, "bucket"),
        ({"bucket": "1", "file.format": "csv"}, UnsupportedFeature, "file.format"),
        ({"bucket": "1", "fields.nope.sequence-group": "v"}, InvalidRequest, "nope"),
        ({"bucket": "-1", "fields.nope.sequence-group": "v"}, InvalidRequest, "nope"),
    ],
)
def test_options_are_checked_when_the_table_is_created(
    catalog: Catalog, options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        catalog.create_table(
            "db.t",
            columns=[("k", "INT"), ("v", "INT")],
            primary_key=["k"],
            options={"merge-engine": "partial-update", **options},
        )

    assert catalog.list_tables() == []


def test_key_columns_must_exist(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequest) as caught:
        catalog.create_table(
            "db.t",
            columns=[("k", "INT")],
            primary_key=["k", "a"],
            partition_keys=["a", "b"],
            options={"bucket": "1"},
        )

    assert [problem.field for problem in caught.value.problems] == ["a", "b"]


def test_storage_without_exclusive_creation_is_refused() -> None:
    class Overwriting(MemoryFileIO):
        def create_exclusive(self, path: str, data: bytes) -> bool:
            self.overwrite(path, data)
            return True

    with pytest.raises(UnsupportedFeature):
        given(Catalog("/wh", file_io=Overwriting()))


def test_a_warehouse_on_disk_is_found_by_its_address(tmp_path: object) -> None:
    catalog = Catalog(f"file://{tmp_path}/wh")
    given(catalog)

    assert catalog.database_path("db") == f"{tmp_path}/wh/db.db"
    assert Catalog(f"{tmp_path}/wh").list_tables() == ["db.t"]


@pytest.mark.parametrize(
    "identifier",
    ["", "db", "a.b.c", ".t", "db.", "../x.t", "db.a/b", "db.\0", "db. ", f"db.{'x' * 201}"],
)
def test_a_name_that_is_no_directory_of_the_warehouse_is_refused(
    catalog: Catalog, identifier: str
) -> None:
    with pytest.raises(InvalidRequest):
        catalog.table(identifier)


@pytest.mark.parametrize("database", ["", ".", "..", "a/b", "../../x", "\0", "x" * 201])
def test_a_database_is_inside_the_warehouse(catalog: Catalog, database: str) -> None:
    with pytest.raises(InvalidRequest):
        catalog.database_path(database)
    with pytest.raises(InvalidRequest):
        catalog.list_tables(database)


def test_a_directory_option_with_dots_is_refused_at_creation(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequest) as caught:
        catalog.create_table(
            "db.t",
            columns=[("k", "INT")],
            primary_key=["k"],
            options={"bucket": "1", "data-file.path-directory": "../../elsewhere"},
        )

    assert [problem.field for problem in caught.value.problems] == ["data-file.path-directory"]
    assert catalog.list_tables() == []


@pytest.mark.parametrize("name", ["", "  ", "a\0b"])
def test_a_column_without_a_usable_name_is_refused(catalog: Catalog, name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        catalog.create_table(
            "db.t",
            columns=[("k", "INT"), (name, "INT")],
            primary_key=["k"],
            options={"bucket": "1"},
        )

    assert [problem.field for problem in caught.value.problems] == ["columns"]


def test_bytes_cannot_partition_a_table(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequest, match="directory"):
        catalog.create_table(
            "db.t",
            columns=[("k", "INT"), ("p", "BINARY(2)")],
            primary_key=["k", "p"],
            partition_keys=["p"],
            options={"bucket": "1"},
        )


def test_a_partition_column_outside_of_the_key_is_refused(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequest, match=r"partition: .*\n.*primary key: k, p") as caught:
        catalog.create_table(
            "db.t",
            columns=[("k", "INT"), ("p", "INT")],
            primary_key=["k"],
            partition_keys=["p"],
            options={"bucket": "1"},
        )

    assert not isinstance(caught.value, UnsupportedFeature)
    assert catalog.list_tables() == []


def test_every_column_of_a_wrong_type_is_named(catalog: Catalog) -> None:
    columns = [("k", "INT"), ("a", "FOO"), ("b", "DECIMAL(99, 2)"), ("c", "BLOB")]

    with pytest.raises(InvalidRequest) as caught:
        catalog.create_table("db.t", columns=columns, primary_key=["k"])

    assert not isinstance(caught.value, UnsupportedFeature)
    fields = [problem.field for problem in caught.value.problems]
    assert fields == ["columns.a", "columns.b", "columns.c"]


def test_types_that_only_later_versions_have_are_unsupported_by_name(catalog: Catalog) -> None:
    columns = [("k", "INT"), ("a", "GEOGRAPHY"), ("b", "BLOB")]

    with pytest.raises(UnsupportedFeature) as caught:
        catalog.create_table("db.t", columns=columns, primary_key=["k"])

    assert [problem.field for problem in caught.value.problems] == ["columns.a", "columns.b"]
