"""Tables on a server of the S3 protocol: many writers, faults, errors, requests, other readers."""

import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from braid.demo.s3_fault_proxy import Faults
from braid.demo.s3_server import S3Server
from braid.lake import Catalog, CompactionPool, Condition, ReadAt, Table
from braid.lake.errors import InvalidRequest, StorageUnavailable, UnsupportedFeature
from braid.lake.files.object_store.store import ObjectStoreFileIO
from tests.support.committing_beside import commit_beside
from tests.support.doc_examples import ROOT, run_python
from tests.support.program import fork_server, run_braid
from tests.support.s3_storage import s3_file_io, s3_settings
from tests.unit.lake.iceberg.given_metadata import published, top_files

pytestmark = pytest.mark.integration

WRITERS = 8
COLUMNS = [("id", "BIGINT"), ("day", "STRING"), ("version", "INT"), ("text", "STRING")]


def test_a_table_survives_faults_of_its_store(s3_server: S3Server, warehouse: str) -> None:
    file_io = s3_file_io(s3_server)
    s3_server.proxy.faults = Faults.of(0.05)
    table = given_orders(Catalog(warehouse, file_io=file_io))
    expected: dict[int, dict[str, object]] = {}
    drawn = random.Random(5)

    for version in range(4):
        rows = [row(number, version) for number in drawn.sample(range(400), 150)]
        expected |= {int(str(one["id"])): one for one in rows}
        table.write_and_commit(pa.Table.from_pylist(rows))
        if version == 2:
            table.create_tag("half")
            with CompactionPool(workers=1) as pool:
                outcomes = list(pool.compact(table, full=True))
            assert outcomes
            assert all(outcome.error is None for outcome in outcomes)

    reopened = Catalog(warehouse, file_io=file_io).table("shop.orders")
    table.expire(retain_max=2, retain_min=1)
    assert ordered(reopened.scan().to_arrow()) == [expected[key] for key in sorted(expected)]
    wanted = [Condition(column="day", op="=", value="d1")]
    assert ordered(reopened.scan(where=wanted).to_arrow()) == [
        expected[key] for key in sorted(expected) if expected[key]["day"] == "d1"
    ]
    for key in drawn.sample(range(400), 8):
        found = reopened.get({"id": key, "day": f"d{key % 2}"})
        assert found == expected.get(key)
    assert reopened.scan(at=ReadAt(tag="half")).to_arrow().num_rows > 0
    # Only what the faults left behind is unreferenced.
    swept = table.clean_orphans(min_age_ms=0, delete=True)
    assert {file.path.rpartition("/")[2] for file in swept.files}.isdisjoint(data_files(reopened))
    assert ordered(reopened.scan().to_arrow()) == [expected[key] for key in sorted(expected)]
    assert sum(s3_server.proxy.injected.values()) > 10


def test_of_eight_processes_that_commit_no_commit_is_lost(
    s3_server: S3Server, warehouse: str
) -> None:
    commit_beside(
        s3_file_io(s3_server),
        f"{warehouse}/commits.db/t",
        writers=WRITERS,
        commits=5,
        processes=fork_server(),
    )


@pytest.mark.soak
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_of_eight_processes_that_commit_for_long_no_commit_is_lost(
    s3_server: S3Server, warehouse: str, share: float
) -> None:
    s3_server.proxy.faults = Faults.of(share)
    commit_beside(
        s3_file_io(s3_server),
        f"{warehouse}/commits.db/t",
        writers=WRITERS,
        commits=25,
        processes=fork_server(),
    )


def test_a_server_whose_conditional_puts_are_not_exclusive_is_refused(
    s3_server: S3Server, warehouse: str
) -> None:
    bare = replace(s3_settings(s3_server), endpoint=s3_server.bare_endpoint)

    def ask_often() -> None:
        # One round of questions finds it out in 999 of 1,000 cases.
        for _ in range(5):
            ObjectStoreFileIO(bare).probe_exclusive_create(warehouse)

    with pytest.raises(UnsupportedFeature, match="at the same moment"):
        ask_often()


def test_a_bucket_that_is_absent_is_named(s3_server: S3Server) -> None:
    catalog = Catalog("s3://no-such-bucket/w", file_io=s3_file_io(s3_server))

    for ask in (catalog.list_tables, lambda: catalog.table("shop.orders")):
        with pytest.raises(InvalidRequest, match="there is no bucket `no-such-bucket` at http"):
            ask()


def test_wrong_credentials_are_reported_and_not_retried(
    s3_server: S3Server, warehouse: str, tmp_path: Path
) -> None:
    wrong = tmp_path / "credentials"
    wrong.write_text("AWS_ACCESS_KEY_ID=somebody\nAWS_SECRET_ACCESS_KEY=s3cr3t\n")
    file_io = ObjectStoreFileIO(replace(s3_settings(s3_server), credentials_file=str(wrong)))

    for ask in (file_io.read_bytes, file_io.exists, file_io.list, file_io.open_input):
        with pytest.raises(StorageUnavailable, match="refused access") as caught:
            ask(f"{warehouse}/file")
        assert "BRAID_STORE_CREDENTIALS" in str(caught.value)
        assert "s3cr3t" not in str(caught.value)


def test_an_answer_that_makes_no_sense_is_reported_as_the_stores(
    s3_server: S3Server, warehouse: str
) -> None:
    file_io = s3_file_io(s3_server)

    for make in (file_io.create_exclusive, file_io.write_new, file_io.overwrite):
        s3_server.proxy.answer_next("PUT", "/odd", status=404)
        with pytest.raises(StorageUnavailable, match="status 404"):
            make(f"{warehouse}/odd", b"x")
    assert not file_io.exists(f"{warehouse}/odd")


def test_an_endpoint_that_does_not_listen_is_named(s3_server: S3Server, warehouse: str) -> None:
    settings = replace(s3_settings(s3_server), endpoint="http://127.0.0.1:1")

    with pytest.raises(StorageUnavailable, match=r"no connection to http://127\.0\.0\.1:1"):
        ObjectStoreFileIO(settings).list(warehouse)


def test_a_process_that_was_forked_too_late_gets_an_error_and_does_not_hang(
    s3_server: S3Server, warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_io = s3_file_io(s3_server)
    assert not file_io.exists(f"{warehouse}/file")
    parent = os.getpid()

    monkeypatch.setattr(os, "getpid", lambda: parent + 1)

    for used in (file_io, s3_file_io(s3_server)):
        with pytest.raises(InvalidRequest, match="`spawn` or `forkserver`"):
            used.exists(f"{warehouse}/file")


def test_an_upload_in_parts_whose_last_answer_is_lost_is_there(
    s3_server: S3Server, warehouse: str
) -> None:
    file_io, data = s3_file_io(s3_server), os.urandom(20 << 20)
    s3_server.proxy.lose_next("POST", "uploadId=")

    with file_io.open_output(f"{warehouse}/large") as sink:
        sink.write(data)

    assert s3_server.proxy.injected["lost"] == 1
    assert file_io.read_bytes(f"{warehouse}/large") == data


def test_a_creation_whose_answer_is_lost_leaves_it_to_the_content(
    s3_server: S3Server, warehouse: str
) -> None:
    file_io = s3_file_io(s3_server)
    s3_server.proxy.lose_next("PUT", "/snapshot-1")
    s3_server.proxy.lose_next("PUT", "/data-1")

    assert not file_io.create_exclusive(f"{warehouse}/snapshot-1", b"ours")
    file_io.write_new(f"{warehouse}/data-1", b"ours too")

    assert s3_server.proxy.injected["lost"] == 2
    assert file_io.read_bytes(f"{warehouse}/snapshot-1") == b"ours"
    assert file_io.read_bytes(f"{warehouse}/data-1") == b"ours too"


def test_a_creation_whose_answers_are_lost_many_times_is_repeated(
    s3_server: S3Server, warehouse: str
) -> None:
    file_io = ObjectStoreFileIO(s3_settings(s3_server), sleep=lambda _: None)
    for _ in range(8):
        s3_server.proxy.lose_next("PUT", "/eight")
    for _ in range(9):
        s3_server.proxy.lose_next("PUT", "/nine")

    file_io.write_new(f"{warehouse}/eight", b"ours")
    with pytest.raises(StorageUnavailable, match="/nine: a broken connection"):
        file_io.write_new(f"{warehouse}/nine", b"ours")

    assert file_io.read_bytes(f"{warehouse}/eight") == b"ours"
    assert s3_server.proxy.injected["lost"] == 17


def test_a_conflict_that_comes_to_nothing_is_no_file(s3_server: S3Server, warehouse: str) -> None:
    file_io = s3_file_io(s3_server)
    file_io.write_new(f"{warehouse}/theirs", b"theirs")
    s3_server.proxy.answer_next("PUT", "/ours", status=409)
    s3_server.proxy.answer_next("PUT", "/theirs", status=409)

    assert file_io.create_exclusive(f"{warehouse}/ours", b"ours")
    assert not file_io.create_exclusive(f"{warehouse}/theirs", b"ours")

    assert file_io.read_bytes(f"{warehouse}/ours") == b"ours"
    assert file_io.read_bytes(f"{warehouse}/theirs") == b"theirs"


def test_a_directory_of_more_files_than_a_page_is_listed_whole(
    s3_server: S3Server, warehouse: str
) -> None:
    file_io = s3_file_io(s3_server)
    file_io.write_new(f"{warehouse}/d/0000", b"")
    folder = s3_server.data_dir / warehouse.removeprefix(f"s3://{s3_server.bucket}/") / "d"
    names = [f"{number:04}" for number in range(1_234)]
    for name in names[1:]:
        # Written through the server they would take seconds.
        (folder / name).hardlink_to(folder / "0000")
    s3_server.proxy.is_recording = True

    assert [one.name for one in file_io.list(f"{warehouse}/d")] == names
    assert len(s3_server.proxy.requests) == 2


def test_a_scan_takes_one_request_per_small_file(s3_server: S3Server, warehouse: str) -> None:
    table = given_orders(Catalog(warehouse, file_io=s3_file_io(s3_server)))
    for version in range(4):
        rows = [row(number, version) for number in range(100)]
        table.write_and_commit(pa.Table.from_pylist(rows))
    s3_server.proxy.is_recording = True

    assert table.scan().to_arrow().num_rows == 100

    asked = Counter(
        path.rpartition("/")[2] if path.endswith(".parquet") else path.split("/")[-2]
        for path in (request.path for request in s3_server.proxy.requests)
    )
    data = {name: count for name, count in asked.items() if name.endswith(".parquet")}
    assert len(data) == 8
    assert set(data.values()) == {1}
    # The hint, the snapshot, and a check for a later one; the manifests are known to the writer.
    assert asked["snapshot"] == 3
    assert sum(asked.values()) <= 8 + 3 + 2


def test_manifests_of_a_snapshot_are_read_side_by_side(s3_server: S3Server, warehouse: str) -> None:
    table = given_orders(Catalog(warehouse, file_io=s3_file_io(s3_server)))
    for version in range(6):
        table.write_and_commit(pa.Table.from_pylist([row(1, version)]))
    reader = Catalog(warehouse, file_io=s3_file_io(s3_server)).table("shop.orders")
    s3_server.proxy.hold(r"/manifest/manifest-(?!list)", beside=4)

    assert reader.scan().plan().files_total == 6
    assert "missed" not in s3_server.proxy.injected


def test_the_program_works_on_an_address(s3_server: S3Server, warehouse: str) -> None:
    given_orders(Catalog(warehouse, file_io=s3_file_io(s3_server))).write_and_commit(
        pa.Table.from_pylist([row(1, 1)])
    )

    done = run_braid(
        "table", "inspect", "shop.orders", "snapshots", "--warehouse", warehouse,
        environment=s3_server.environment,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "APPEND" in done.stdout


def test_the_guide_prints_its_output(
    s3_server: S3Server, warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)

    run_python(ROOT / "docs/guides/object-storage.md", {"warehouse": warehouse}, kind="python-s3")


def given_orders(catalog: Catalog) -> Table:
    return catalog.create_table(
        "shop.orders",
        columns=COLUMNS,
        primary_key=["id", "day"],
        partition_keys=["day"],
        options={"bucket": "1", "merge-engine": "partial-update"},
    )


def row(number: int, version: int) -> dict[str, object]:
    return {
        "id": number,
        "day": f"d{number % 2}",
        "version": version,
        "text": f"{number} at {version}",
    }


def ordered(table: pa.Table) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = table.sort_by("id").to_pylist()
    return rows


def data_files(table: Table) -> set[str]:
    return {str(one["file_name"]) for one in table.inspect.files().to_pylist()}


@pytest.fixture
def warehouse(s3_server: S3Server, tmp_path: Path) -> str:
    return f"s3://{s3_server.bucket}{tmp_path}"


def test_iceberg_metadata_are_written_replaced_and_dropped(
    s3_server: S3Server, warehouse: str
) -> None:
    file_io = s3_file_io(s3_server)
    catalog = Catalog(warehouse, file_io=file_io)
    table = catalog.create_table(
        "shop.orders",
        columns=[("id", "INT"), ("v", "INT")],
        primary_key=["id"],
        options={"bucket": "1", "metadata.iceberg.storage": "hadoop-catalog"},
    )
    directory = f"{warehouse}/iceberg/shop/orders/metadata"
    numbers = pa.array([1, 2], pa.int32())
    for name in ("first", "second"):
        table.write_and_commit(pa.table({"id": numbers, "v": numbers}))
        table.compact()
        table.create_tag(name)

    found = published(file_io, directory)
    assert found.names == top_files(table) != []
    assert found.refs == {"first": 2, "second": 4}
    table.delete_tag("first")
    table.expire(retain_min=1, retain_max=1, older_than_ms=1 << 60)
    assert published(file_io, directory).snapshots == [4]

    catalog.drop_table("shop.orders")
    assert file_io.list(directory) == []
