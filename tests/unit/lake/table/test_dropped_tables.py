"""Handles of dropped tables: every operation is refused, and none touches a new table of the name."""

import pickle
import random
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake import AddColumn, Catalog, ManualClock, MemoryFileIO, Table, parse_type
from braid.lake.errors import TableNotFound
from braid.lake.files.paths import TablePaths
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.table_identity import TableIdentity

NAME = "db.t"
ROWS = pa.table({"k": pa.array([1], pa.int32()), "v": ["abc"]})


class CountingFileIO(MemoryFileIO):
    """Counts the requests to storage."""

    def __init__(self) -> None:
        super().__init__()
        self.requested: list[str] = []

    def read_bytes(self, path: str) -> bytes:
        self.requested.append(path.rsplit("/", 1)[-1])
        return super().read_bytes(path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def file_io() -> CountingFileIO:
    return CountingFileIO()


@pytest.fixture
def catalog(clock: ManualClock, file_io: CountingFileIO) -> Catalog:
    return Catalog("/wh", file_io=file_io, clock=clock, random=random.Random(1))


def created(catalog: Catalog, value_type: str = "STRING", **options: str) -> Table:
    return catalog.create_table(
        NAME,
        columns=[("k", "INT"), ("v", value_type)],
        primary_key=["k"],
        options={"bucket": "1", **options},
    )


USES: dict[str, Callable[[Table], object]] = {
    "scan": lambda table: table.scan(),
    "scan of a snapshot": lambda table: table.scan(at=1),
    "snapshot": lambda table: table.snapshot(1),
    "latest_snapshot": lambda table: table.latest_snapshot(),
    "get": lambda table: table.get({"k": 1}),
    "refresh": lambda table: table.refresh(),
    "compact": lambda table: table.compact(),
    "writer": lambda table: table.writer(),
    "write_and_commit": lambda table: table.write_and_commit(ROWS),
    "stream": lambda table: table.committer().claim_stream("s", topic="t", initial_offsets={0: 0}),
    "expire": lambda table: table.expire(),
    "lease": lambda table: table.lease(),
    "reset_consumer": lambda table: table.reset_consumer("c", 1),
    "delete_consumer": lambda table: table.delete_consumer("c"),
    "create_tag": lambda table: table.create_tag("t"),
    "delete_tag": lambda table: table.delete_tag("t"),
    "expire_tags": lambda table: table.expire_tags(),
    "rollback": lambda table: table.rollback(snapshot_id=1),
    "clean_orphans": lambda table: table.clean_orphans(delete=True, min_age_ms=0),
    "alter": lambda table: table.alter(AddColumn(path=("w",), type=parse_type("INT"))),
    "changes": lambda table: table.changes(0),
}


@pytest.mark.parametrize("bucket", ["1", "-1"])
@pytest.mark.parametrize("is_written", [True, False], ids=["written", "empty"])
@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_every_operation_on_a_dropped_table_raises_table_not_found(
    catalog: Catalog,
    file_io: MemoryFileIO,
    use: Callable[[Table], object],
    is_written: bool,
    bucket: str,
) -> None:
    table = created(catalog, bucket=bucket)
    if is_written:
        table.write_and_commit(ROWS)
    catalog.drop_table(NAME)

    with pytest.raises(TableNotFound, match=r"gone|no table"):
        use(table)

    assert file_io.list(table.path) == []


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "empty"])
@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_table_of_the_same_name_is_another_table(
    catalog: Catalog, clock: ManualClock, use: Callable[[Table], object], is_written: bool
) -> None:
    old = created(catalog)
    old.write_and_commit(ROWS)
    catalog.drop_table(NAME)
    clock.advance(ms=1)
    new = created(catalog, "INT")
    if is_written:
        new.write_and_commit(pa.table({"k": pa.array([2], pa.int32()), "v": [5]}))

    with pytest.raises(TableNotFound, match="another table is in its place; open the table again"):
        use(old)

    assert new.scan().to_arrow().to_pylist() == ([{"k": 2, "v": 5}] if is_written else [])


@pytest.mark.parametrize("has_old_rows", [True, False])
def test_files_written_before_the_drop_are_not_committed_after_it(
    catalog: Catalog, clock: ManualClock, has_old_rows: bool
) -> None:
    old = created(catalog)
    if has_old_rows:
        old.write_and_commit(ROWS)
    writer, committer = old.writer(), old.committer()
    writer.write(ROWS)
    messages = writer.prepare_commit().messages
    catalog.drop_table(NAME)
    clock.advance(ms=1)
    new = created(catalog, "INT")

    with pytest.raises(TableNotFound):
        committer.commit(messages, commit_user="u")

    assert new.latest_snapshot() is None


def test_a_committer_that_outlives_the_table_notices_as_well(
    catalog: Catalog, clock: ManualClock
) -> None:
    old = created(catalog)
    committer = old.committer()
    committer.commit([], commit_user="u", commit_identifier=1, allow_empty=True)
    catalog.drop_table(NAME)
    clock.advance(ms=1)
    created(catalog, "INT")

    with pytest.raises(TableNotFound):
        committer.commit([], commit_user="u", commit_identifier=2, allow_empty=True)


def test_an_equal_table_created_later_is_another_one(catalog: Catalog, clock: ManualClock) -> None:
    old = pickle.loads(pickle.dumps(created(catalog).schema))
    catalog.drop_table(NAME)
    clock.advance(ms=1)
    new = created(catalog)

    TableIdentity(new.file_io, TablePaths(new.path), new.schema).confirm(None)
    with pytest.raises(TableNotFound, match="another table is in its place"):
        TableIdentity(new.file_io, TablePaths(new.path), old).confirm(None)


def test_a_newer_schema_is_of_the_same_table(catalog: Catalog, clock: ManualClock) -> None:
    old = created(catalog)
    old.write_and_commit(ROWS)
    clock.advance(ms=1)
    newer = replace(old.schema, id=1, comment="new", time_millis=clock.now_ms())
    assert SchemaStore(old.file_io, old.paths).create(newer)

    old.refresh()
    old.write_and_commit(ROWS)

    assert old.schema == newer
    assert old.scan().to_arrow().num_rows == 1


def test_a_confirmed_snapshot_costs_no_further_read(
    catalog: Catalog, file_io: CountingFileIO
) -> None:
    table = created(catalog)
    table.write_and_commit(ROWS)
    table.scan()
    file_io.requested.clear()

    table.scan()
    table.get({"k": 1})

    assert [name for name in file_io.requested if name.startswith("schema-")] == []


def test_a_commit_confirms_the_table_once_and_only_for_a_new_snapshot(
    catalog: Catalog, file_io: CountingFileIO
) -> None:
    table = created(catalog)
    table.write_and_commit(ROWS)
    committer = table.committer()
    committer.commit([], commit_user="u", commit_identifier=1, allow_empty=True)
    file_io.requested.clear()

    committer.commit([], commit_user="u", commit_identifier=2, allow_empty=True)

    assert file_io.requested.count("schema-0") == 1
