"""Every kind of stored document is shared with another build, which has a field more and lacks some: both read and change it.

The other build is a process of its own (`tests.support.other_documents`), which runs once, after this build has stored its documents.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from braid.lake import Catalog, FileIO, SystemClock, file_io_for
from braid.registry.errors import FeaturesMissing
from braid.registry.registrar import Registrar
from braid.registry.store.access_tokens import AccessTokens, token_of
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.backfill_reports import BackfillReports
from braid.registry.store.documents import RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.letter_questions import LetterQuestions
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.operations import OperationStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.remembered_requests import Claim, RememberedAnswer, RememberedRequests
from braid.registry.stream_entries import Verb
from braid.schemas import (
    Actor,
    BackfillReport,
    BackfillState,
    CompactionRequest,
    LetterQuery,
    LetterSelection,
    OperationDocument,
    OperationProgress,
    OperationState,
    RunnerProgress,
    StreamProgress,
    StreamState,
)
from braid.schemas.access import AccessScope, Grant
from tests.support.other_build import ADDED, VALUE
from tests.support.other_documents import OPERATION, OTHER_OPERATION, SECRET, TABLE
from tests.unit.registry.shop import definition, orders

PROGRAM = """
from tests.support.other_build import become_other
become_other()
from tests.support.other_documents import main
main()
"""
ROOT = Path(__file__).parents[4]
CLOCK = SystemClock()
ACTOR = Actor(name="ours", address="host", request_id="r1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A warehouse in which both builds have stored documents, and what the other one has read."""

    warehouse: str
    file_io: FileIO
    seen: dict[str, Any]

    @property
    def registry(self) -> RegistryStore:
        return RegistryStore(self.file_io, self.warehouse, CLOCK)

    def stored(self, path: str) -> Any:
        """Return the newest version, or the only file, at a path below the registry's folder."""
        found = Path(self.warehouse) / "_braid" / path
        newest = max(found.glob("*.json")) if found.is_dir() else found
        return json.loads(newest.read_bytes())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    file_io = file_io_for(warehouse)
    store_documents(file_io, warehouse)
    other = subprocess.run(
        [sys.executable, "-c", PROGRAM, warehouse],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert other.returncode == 0, other.stderr
    return Shared(warehouse=warehouse, file_io=file_io, seen=json.loads(other.stdout))


def store_documents(file_io: FileIO, warehouse: str) -> None:
    """Store a document of each kind, with the fields that the other build does not have."""
    catalog = Catalog(warehouse, file_io=file_io, clock=CLOCK)
    registrar = Registrar(RegistryStore(file_io, warehouse, CLOCK), catalog, CLOCK, actor=ACTOR)
    registrar.put_table("shop", "orders", orders(comment="ours"))
    registrar.put_stream(TABLE, "sales", definition())
    registrar.request_replay(TABLE, "sales", LetterSelection(), request_id="r")
    registrar.put_table("shop", "dropped", orders())
    LeaseStore(file_io, warehouse, CLOCK).acquire(TABLE, "sales", "ours", 600_000)
    running = StreamProgress(state=StreamState.RETRYING, trace="ours")
    report = RunnerProgress(
        runner="ours", started_ms=1, updated_ms=2, streams={f"{TABLE}/sales": running}
    )
    ProgressStore(file_io, warehouse, CLOCK).write(report)
    backfill = BackfillReport(
        stream="sales", name="ours", state=BackfillState.RUNNING, done=0.5, rows=7, updated_ms=1
    )
    BackfillReports(file_io, warehouse, CLOCK).write(TABLE, backfill)
    operation = OperationDocument(
        id=OPERATION,
        database="shop",
        table="orders",
        request=CompactionRequest(),
        created_ms=1,
        requested_by="ours",
        progress=OperationProgress(done=1, total=2, unit="buckets"),
    )
    OperationStore(file_io, warehouse, CLOCK).create(operation, announce=lambda: None)
    token = token_of(
        f"braid_{'0' * 16}_{SECRET}",
        "ours",
        [Grant(scope=AccessScope.READ, tables=("*",))],
        now_ms=1,
    )
    AccessTokens(file_io, warehouse, CLOCK).add(token)
    requests = RememberedRequests(file_io, warehouse, CLOCK)
    claim = requests.begin(TABLE, NamedRequest(key="ours", digest="d"))
    assert isinstance(claim, Claim)
    requests.finish(claim, RememberedAnswer(digest="d", status=200, headers={}, body="ours"))
    question = LetterQuery(
        id="q", table=TABLE, stream="sales", selection=LetterSelection(), limit=1, asked_ms=1
    )
    LetterQuestions(file_io, warehouse).ask(question)


def test_the_other_build_reads_every_kind_of_document(shared: Shared) -> None:
    assert shared.seen == {
        "table": "PAUSED",
        "audit": [
            "put_table",
            "put_stream",
            "replay_dead_letters",
            "put_table",
            "create_token",
            "pause_stream",
            "drop_table",
        ],
        "lease": "ours",
        "report": ["ours"],
        "backfill": ["ours"],
        "operation": "compaction",
        "token": ["ours"],
        "request": "ours",
        "question": "sales",
    }


def test_a_table_and_its_streams_keep_what_either_build_has_stored(shared: Shared) -> None:
    catalog = Catalog(shared.warehouse, file_io=shared.file_io, clock=CLOCK)
    registrar = Registrar(shared.registry, catalog, CLOCK)

    document = registrar.apply_verb(TABLE, "sales", Verb.RESUME).document

    assert (document.table.comment, document.created_ms > 0) == ("ours", True)
    assert document.streams["sales"].replay is not None
    stored = shared.stored(f"tables/{TABLE}")
    assert [stored[ADDED], stored["table"][ADDED]] == [VALUE, VALUE]
    assert stored["streams"]["sales"]["spec"][ADDED] == VALUE


def test_a_table_that_the_other_build_has_dropped_is_not_registered(shared: Shared) -> None:
    assert shared.registry.table("shop.dropped") is None


def test_entries_of_the_audit_log_keep_their_fields(shared: Shared) -> None:
    pages = AuditPages(shared.registry, shared.file_io)

    entries = pages.page(AuditFilter(), limit=20).entries

    by_ours = [entry.actor for entry in entries if entry.actor.name == "ours"]
    assert by_ours == [ACTOR] * 4
    assert "pause_stream" in [entry.action for entry in entries]


def test_a_lease_of_the_other_build_holds(shared: Shared) -> None:
    leases = LeaseStore(shared.file_io, shared.warehouse, CLOCK)

    holders = [leases.holder(TABLE, name) for name in ("sales", "payments")]

    assert [one.owner for one in holders if one is not None] == ["ours", "theirs"]
    assert leases.acquire(TABLE, "payments", "ours", 1_000) is None


def test_reports_of_both_builds_are_read(shared: Shared) -> None:
    reports = ProgressStore(shared.file_io, shared.warehouse, CLOCK).read_all()
    backfills = BackfillReports(shared.file_io, shared.warehouse, CLOCK)

    assert reports.unreadable == ()
    assert {one.runner: [s.trace for s in one.streams.values()] for one in reports.runners} == {
        "ours": ["ours"],
        "theirs": [None],
    }
    assert {*backfills.read(TABLE, "sales", ["ours", "theirs"])} == {"ours", "theirs"}


def test_an_operation_keeps_what_either_build_has_stored(shared: Shared) -> None:
    operations = OperationStore(shared.file_io, shared.warehouse, CLOCK)
    found = operations.get(OPERATION)

    assert (found.state, found.attempt) == (OperationState.RUNNING, 1)
    assert (found.requested_by, found.progress) == (
        "ours",
        OperationProgress(done=1, total=2, unit="buckets"),
    )
    cancel = {"cancel_requested": True}
    operations.change(OTHER_OPERATION, lambda one: one.model_copy(update=cancel))
    stored = shared.stored(f"operations/open/{OTHER_OPERATION}")
    assert (stored["cancel_requested"], stored[ADDED], stored["request"][ADDED]) == (
        True,
        VALUE,
        VALUE,
    )
    operations.finish(found.model_copy(update={"state": OperationState.SUCCEEDED}))
    ended = shared.stored(f"operations/finished/{OPERATION}.json")
    assert (ended["state"], ended[ADDED], ended["requested_by"]) == ("SUCCEEDED", VALUE, "ours")


def test_an_operation_of_a_newer_kind_is_left_to_newer_versions(shared: Shared) -> None:
    operations = OperationStore(shared.file_io, shared.warehouse, CLOCK)
    newer = f"{TABLE}.{'2' * 20}"
    content = {"id": newer, "database": "shop", "table": "orders", "created_ms": 1}
    content["request"] = {"kind": "time_travel"}
    folder = f"{shared.warehouse}/_braid/operations/open/{newer}"
    shared.file_io.create_exclusive(f"{folder}/{1:020}.json", json.dumps(content).encode())

    with pytest.raises(FeaturesMissing, match="operation kind time_travel"):
        operations.get(newer)
    with pytest.raises(FeaturesMissing):
        operations.change(newer, lambda one: one)

    assert newer in operations.open_ids()


def test_a_token_with_an_unknown_restriction_is_refused_and_kept(shared: Shared) -> None:
    tokens = AccessTokens(shared.file_io, shared.warehouse, CLOCK)

    found = tokens.stored()

    assert ([one.name for one in found.tokens], found.unreadable) == (["ours"], ("theirs",))
    tokens.revoke("ours")
    assert tokens.stored().unreadable == ("theirs",)


def test_requests_that_the_other_build_has_answered_are_repeated(shared: Shared) -> None:
    requests = RememberedRequests(shared.file_io, shared.warehouse, CLOCK)

    answer = requests.begin(TABLE, NamedRequest(key="theirs", digest="d"))
    under_way = requests.begin(TABLE, NamedRequest(key="under way", digest="d"))

    assert isinstance(answer, RememberedAnswer)
    assert (answer.body, answer.headers) == ("theirs", {"etag": "1"})
    assert under_way is None, "the other build carries it out"


def test_a_question_for_dead_letters_is_answered_by_the_other_build(shared: Shared) -> None:
    answer = LetterQuestions(shared.file_io, shared.warehouse).answer_of("q")

    assert answer is not None
    assert answer.error == "theirs"
