"""Both clients against the real app: what is sent arrives, and what is answered is typed."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, assert_type

import httpx
import polars as pl
import pyarrow as pa
import pytest

from braid.client import (
    NO_RETRIES,
    AsyncClient,
    Client,
    ClientSettings,
    Conflict,
    IndexNotFound,
    InvalidRequest,
    NoAnswer,
    PreconditionFailed,
    RowAnswer,
    RowNotFound,
    StreamNotFound,
    TableNotFound,
    Unavailable,
    UnexpectedAnswer,
    ViewNotFound,
    async_pages,
    pages,
)
from braid.lake import Catalog
from braid.schemas import ProblemCode, TableSpec
from braid.schemas.api import RowChange, WideRows
from braid.schemas.record_outcome import RecordOutcome, RowOutcomes
from braid.service.braid_app import BraidApp
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from tests.support.app_transport import AppTransport
from tests.support.fed_table import FedTable, Message
from tests.unit.client.conftest import ADDRESS, PARCELS, async_client, write

STREAM = {"topic": "parcels", "partitioned_by_key": True}


def test_a_row_is_read_by_its_key(parcels: Client) -> None:
    answer = parcels.table("shop.parcels").row({"id": 7}, columns=["city", "id"])

    assert_type(answer, RowAnswer)
    assert list(answer.row.items()) == [("city", "Ulm"), ("id", 7)]
    assert (answer.snapshot.id, answer.etag is None) == (1, False)


def test_a_row_that_has_not_changed_is_not_sent_again(parcels: Client, catalog: Catalog) -> None:
    table = parcels.table("shop.parcels")
    etag = table.row({"id": 7}).etag
    assert etag is not None
    assert table.row_if_changed({"id": 7}, etag) is None

    write(catalog, {7: "Linz"})

    changed = table.row_if_changed({"id": 7}, etag)
    assert changed is not None
    assert changed.row["city"] == "Linz"


def test_older_states_and_bounds_of_freshness_are_sent(parcels: Client, catalog: Catalog) -> None:
    write(catalog, {7: "Linz"})
    table = parcels.table("shop.parcels")

    assert table.row({"id": 7}, snapshot_id=1).row["city"] == "Ulm"
    assert table.row({"id": 7}, min_snapshot=2, max_staleness_ms=0).row["city"] == "Linz"
    assert table.lookup([{"id": 7}], snapshot_id=1, columns=["city"]).rows == ({"city": "Ulm"},)


def test_a_column_of_the_key_may_have_the_name_of_an_option(
    parcels: Client, catalog: Catalog
) -> None:
    columns = [{"name": "tag", "type": "STRING"}, {"name": "v", "type": "INT"}]
    spec = {"columns": columns, "primary_key": ["tag"], "merge_engine": "deduplicate"}
    parcels.table("shop.tags").put(TableSpec.model_validate(spec))
    rows = pa.table({"tag": ["a", "b"], "v": pa.array([1, 2], pa.int32())})
    catalog.table("shop.tags").write_and_commit(rows)
    table = parcels.table("shop.tags")

    assert table.row({"tag": "a"}).row["v"] == 1
    assert table.row_status({"tag": "a"}).exists
    assert table.explain({"tag": "a"}).exists
    with pytest.raises(ValueError, match="`tag` is a column of the key"):
        table.row({"tag": "a"}, tag="b")


def test_a_row_has_a_status(parcels: Client) -> None:
    assert parcels.table("shop.parcels").row_status({"id": 7}).exists
    assert not parcels.table("shop.parcels").row_status({"id": 1}).exists


def test_outcomes_of_pushed_records_are_typed() -> None:
    bed = FedTable(declaration=PARCELS, streams={"parcels": STREAM})
    bed.feed("parcels", Message(value={"id": 7, "city": "Ulm"}))
    key = {"id": 7}
    records = {PushedPlace(0, 0): key_digest(bed.table.schema, key)}
    after = to_token(
        ReadAfter(table="shop.orders", stream="parcels", topic_id="parcels", records=records)
    )
    table = Client(ADDRESS, transport=AppTransport(bed.client.app)).table("shop.orders")

    answer = table.outcomes(key, read_after=after)

    assert_type(answer, RowOutcomes)
    assert [one.outcome for one in answer.records] == [RecordOutcome.WON]
    assert answer.records[0].columns[0].columns == ("paid", "city")
    assert table.row_status(key, read_after=after).exists
    assert table.explain(key, read_after=after).exists
    assert table.certificate(key, read_after=after).row is not None
    with pytest.raises(InvalidRequest, match="read_after"):
        table.outcomes(key, read_after="x")


def test_errors_are_typed_by_their_code(parcels: Client) -> None:
    table = parcels.table("shop.parcels")

    with pytest.raises(RowNotFound) as missing:
        table.row({"id": 1})
    assert missing.value.code == ProblemCode.ROW_NOT_FOUND
    assert missing.value.request_id in str(missing.value)
    with pytest.raises(TableNotFound, match=r"no table shop\.none"):
        parcels.table("shop.none").get()
    with pytest.raises(StreamNotFound):
        table.stream("none").status()
    with pytest.raises(InvalidRequest, match=r"primary_key.*hint") as refused:
        parcels.table("shop.other").put({**PARCELS, "primary_key": ["none"]})
    assert refused.value.errors[0].pointer == "/primary_key/0"


def test_a_table_is_declared_changed_and_dropped(parcels: Client) -> None:
    table = parcels.table("shop.parcels")
    declared = table.get()
    changes = {"changes": [{"change": "add_column", "column": "note", "type": "STRING"}]}
    assert table.validate_schema_changes(changes).valid

    changed = table.change_schema(changes, if_match=declared.etag)

    assert [column.name for column in changed.columns][-1] == "note"
    assert [one.schema_id for one in table.schemas().schemas] == [1, 0]
    with pytest.raises(PreconditionFailed):
        table.change_schema(changes, if_match=declared.etag)
    with pytest.raises(Conflict, match="table_exists"):
        table.put({**PARCELS, "buckets": 2})
    assert not table.validate({**PARCELS, "primary_key": ["none"]}).valid
    table.drop(confirm="shop.parcels")
    with pytest.raises(TableNotFound):
        table.get()


def test_what_was_answered_can_be_declared_again(parcels: Client) -> None:
    table = parcels.table("shop.parcels")

    assert table.put(table.get().spec).spec == table.get().spec


def test_a_stream_has_a_life(parcels: Client) -> None:
    table = parcels.table("shop.parcels")
    stream = table.stream("parcels")
    trial = stream.validate({**STREAM, "samples": [{"value": '{"id": 1}'}]})
    assert trial.samples is not None

    registered = stream.put(STREAM, if_none_match="*")

    assert (registered.spec.topic, registered.etag is None) == ("parcels", False)
    assert stream.get() == registered
    assert [one.name for one in table.streams().streams] == ["parcels"]
    assert stream.status().desired_state == "RUNNING"
    assert [verb().verb for verb in (stream.pause, stream.resume, stream.start)] == [
        "pause",
        "resume",
        "start",
    ]
    assert stream.restart().verb == "restart"
    assert stream.stop().desired_state == "STOPPED"
    assert stream.offsets().offsets == {}
    assert not stream.validate_offsets({"offsets": {"0": 5}}).valid
    with pytest.raises(InvalidRequest):
        stream.set_offsets({"offsets": {"0": 5}})
    assert stream.dead_letters(limit=0, reason=["malformed", "too_large"]).counts.total == 0
    with pytest.raises(InvalidRequest, match="replayed"):
        stream.replay_dead_letters({})
    stream.withdraw_replay()
    stream.delete()
    with pytest.raises(StreamNotFound):
        stream.get()


def test_changes_are_read_to_the_last_page_and_by_a_consumer(
    parcels: Client, catalog: Catalog
) -> None:
    table = parcels.table("shop.parcels")
    write(catalog, {7: "Linz"})

    found: list[RowChange] = [
        change
        for page in pages(table.changes, after_snapshot_id=0, columns=["id"], page_size=2)
        for change in page.changes
    ]

    assert [change.row["id"] for change in found] == [7, 8, 9, 7]
    assert table.put_consumer("billing", 2).next_snapshot_id == 2
    assert [one.id for one in table.consumers().consumers] == ["billing"]
    assert [one.row["id"] for one in table.changes(consumer="billing").changes] == [7]
    table.put_consumer("billing", 3, confirm="billing")
    table.delete_consumer("billing", confirm="billing")
    assert table.consumers().consumers == ()


def test_the_service_and_the_metadata_of_a_table_are_shown(parcels: Client) -> None:
    table = parcels.table("shop.parcels")

    assert parcels.health().status == "alive"
    assert parcels.ready().status == "ready"
    assert [one.name for one in parcels.tables(page_size=5).tables] == ["parcels"]
    assert table.maintenance().snapshot_id == 1
    assert table.history(minutes=5).series == ()
    assert table.inspect("snapshots", limit=1).rows_total == 1


def test_a_feature_view_answers_with_its_status(client: Client, catalog: Catalog) -> None:
    table = client.table("shop.parcels")
    view = {"name": "places", "columns": [{"column": "city", "name": "place"}]}
    table.put({**PARCELS, "merge_engine": "partial-update", "sequence_groups": [{"name": "all", "columns": ["paid", "city"]}], "views": [view]})  # fmt: skip
    write(catalog, {7: "Ulm"})

    found = table.view("places").lookup([{"id": 7}, {"id": 8}])

    assert found.rows[0] is not None
    assert found.rows[0].row == {"place": "Ulm"} == table.view("places").row({"id": 7}).row
    with pytest.raises(ViewNotFound):
        table.view("none").row({"id": 7})


def test_rows_are_found_by_a_lookup_index(client: Client, catalog: Catalog) -> None:
    table = client.table("shop.parcels")
    table.put({**PARCELS, "lookup_indexes": [{"name": "by_city", "columns": ["city"]}]})
    write(catalog, {7: "Ulm", 8: "Graz", 9: "Ulm"})

    found = list(pages(table.index_rows, index="by_city", values={"city": "Ulm"}, page_size=1))

    assert sorted(row["id"] for page in found for row in page.rows) == [7, 9]
    with pytest.raises(IndexNotFound):
        table.index_rows("by_name", {"name": "Ulm"})


def test_tests_of_a_table_are_run(parcels: Client) -> None:
    table = parcels.table("shop.parcels")
    expected = {"rows": [{"key": {"id": 1}, "exists": False}]}

    assert table.run_tests().cases == ()
    assert table.run_tests({"cases": [{"name": "no records", "expect": expected}]}).passed


@pytest.mark.parametrize("name", ["", "parcels", ".parcels", "shop."])
def test_a_table_needs_both_parts_of_its_name(parcels: Client, name: str) -> None:
    with pytest.raises(ValueError, match=r"expected the name of a table as `database\.table`"):
        parcels.table(name)


@pytest.mark.parametrize("name", ["a/b", ".", "..", ""])
def test_a_name_that_would_be_another_address_is_refused(parcels: Client, name: str) -> None:
    with pytest.raises(ValueError, match=r"expected the name of a stream, found"):
        parcels.table("shop.parcels").stream(name).get()


def test_names_are_escaped(parcels: Client) -> None:
    with pytest.raises(TableNotFound, match=r"no table shop\.a b\?c"):
        parcels.table("shop.a b?c").get()


def test_any_number_of_rows_is_read_from_one_snapshot(
    parcels: Client, catalog: Catalog, app: BraidApp
) -> None:
    wanted = [{"id": number} for number in range(2_500)]
    # The first request's answer is of snapshot 1; a commit follows before the others.
    seen: list[httpx.Request] = []

    def commit_once(request: httpx.Request) -> None:
        seen.append(request)
        if len(seen) == 2:
            write(catalog, {1_500: "Bonn"})

    parcels._http.event_hooks = {"request": [commit_once]}

    found = parcels.table("shop.parcels").rows(wanted, parallel=2)

    assert_type(found, WideRows)
    assert (len(seen), len(found.rows), found.snapshot.id) == (3, 2_500, 1)
    assert {number: row["city"] for number, row in enumerate(found.rows) if row} == {
        7: "Ulm",
        8: "Graz",
        9: "Wien",
    }


@pytest.mark.parametrize("keys", [pa.table, pl.DataFrame])
def test_rows_of_a_frame_of_keys_are_a_frame(parcels: Client, keys: Callable[[Any], Any]) -> None:
    table = parcels.table("shop.parcels")
    wanted = keys({"id": [9, 1, 7]})

    as_arrow = table.rows(wanted, as_="arrow", columns=["city"])
    as_polars = table.rows(wanted, as_="polars", columns=["city"])

    assert_type(as_polars, pl.DataFrame)
    expected = [{"id": 9, "city": "Wien"}, {"id": 7, "city": "Ulm"}]
    assert as_arrow.to_pylist() == as_polars.to_dicts() == expected
    assert table.rows(wanted, as_="pandas", columns=["city"]).to_dict("records") == expected


def test_a_table_without_a_snapshot_has_no_rows(client: Client) -> None:
    client.table("shop.parcels").put(PARCELS)

    found = client.table("shop.parcels").rows([{"id": number} for number in range(1_001)])

    assert found.rows == (None,) * 1_001
    assert client.table("shop.parcels").rows([], as_="arrow").num_rows == 0


@pytest.mark.usefixtures("parcels")
def test_the_asynchronous_client_answers_the_same(app: BraidApp) -> None:
    async def check() -> None:
        async with async_client(app) as client:
            assert_type(client, AsyncClient)
            table = client.table("shop.parcels")
            row = await table.row({"id": 7})
            assert_type(row, RowAnswer)
            assert row.row["city"] == "Ulm"
            wanted = [{"id": number} for number in range(2_100)]
            frame = await table.rows(wanted, as_="polars", parallel=2)
            assert_type(frame, pl.DataFrame)
            assert frame["city"].to_list() == ["Ulm", "Graz", "Wien"]
            assert (await table.rows(wanted)).rows[7] is not None
            read = [page async for page in async_pages(table.changes, after_snapshot_id=0)]
            assert [len(page.changes) for page in read] == [3]
            with pytest.raises(StreamNotFound):
                await table.stream("none").status()

    asyncio.run(check())


def scripted(*answers: httpx.Response | Exception) -> tuple[Client, list[float], list[str]]:
    """Return a client whose requests get these answers, the pauses that it makes, and what it sends."""
    left = list(answers)
    pauses: list[float] = []
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.method} {request.url.path}")
        given = left.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    settings = ClientSettings(chance=random.Random(1))
    transport = httpx.MockTransport(answer)
    return (
        Client(ADDRESS, settings=settings, transport=transport, sleep=pauses.append),
        pauses,
        sent,
    )


def problem(code: ProblemCode, status: int, **headers: str) -> httpx.Response:
    document = {"code": code.value, "status": status, "detail": "no", "request_id": "r"}
    media = {"content-type": "application/problem+json"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=document, headers={**media, **named})


ALIVE = httpx.Response(200, json={"status": "alive", "version": "9", "uptime_seconds": 1, "new": 1})


def test_temporary_problems_are_repeated_after_the_time_that_the_service_names() -> None:
    busy = problem(ProblemCode.OVERLOADED, 503, retry_after="2")
    client, pauses, sent = scripted(busy, httpx.ReadError("reset"), ALIVE)

    assert (
        client.health().status == "alive"
    )  # and the field that this client does not know is ignored
    assert sent == ["GET /health"] * 3
    assert 2.0 <= pauses[0] <= 2.1
    assert 0.0 <= pauses[1] <= 0.2


def test_the_last_of_the_attempts_raises_its_error() -> None:
    busy = [problem(ProblemCode.STORAGE_UNAVAILABLE, 503) for _ in range(5)]
    client, pauses, _ = scripted(*busy)

    with pytest.raises(Unavailable):
        client.ready()
    assert len(pauses) == 3


def test_what_would_happen_twice_is_not_repeated() -> None:
    client, pauses, _ = scripted(httpx.ReadTimeout("late"), httpx.ConnectError("none"), ALIVE)

    with pytest.raises(NoAnswer, match="late"):
        client.table("shop.parcels").stream("s").restart()
    assert pauses == []
    assert client.health().status == "alive"


def test_an_answer_of_another_program_is_told() -> None:
    page = httpx.Response(200, text="<html>proxy</html>")
    gateway = httpx.Response(502, text="bad gateway")
    client, _, _ = scripted(page, gateway)

    for _ in range(2):
        with pytest.raises(UnexpectedAnswer, match=r"is not an answer of the API"):
            client.health()


def test_nothing_is_repeated_without_retries(app: BraidApp) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("none")

    settings = ClientSettings(retries=NO_RETRIES)
    client = Client(ADDRESS, settings=settings, transport=httpx.MockTransport(refuse))

    with pytest.raises(NoAnswer) as error:
        client.health()
    assert error.value.is_unsent
