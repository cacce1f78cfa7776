"""Documents of every kind, as another build reads, changes and stores them; `other_build.become_other` is called before the import."""

import json
import sys
from typing import Any

from braid.lake import Catalog, SystemClock, file_io_for
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
from braid.registry.store.remembered_requests import (
    Claim,
    RememberedAnswer,
    RememberedRequests,
)
from braid.registry.stream_entries import Verb
from braid.registry.table_dropper import TableDropper
from braid.schemas import (
    BackfillReport,
    BackfillState,
    CompactionRequest,
    LetterPage,
    OperationDocument,
    OperationState,
    RunnerProgress,
    StreamProgress,
    StreamState,
)
from braid.schemas.access import AccessScope, Grant

TABLE = "shop.orders"
OPERATION = f"{TABLE}.{'0' * 20}"
OTHER_OPERATION = f"{TABLE}.{'1' * 20}"
SECRET = "s" * 43


def act(warehouse: str) -> dict[str, Any]:
    """Read what this build has stored of each kind, change it, and store documents of the other build."""
    file_io, clock = file_io_for(warehouse), SystemClock()
    store = RegistryStore(file_io, warehouse, clock)
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    seen: dict[str, Any] = {}

    paused = Registrar(store, catalog, clock).apply_verb(TABLE, "sales", Verb.PAUSE)
    seen["table"] = paused.document.streams["sales"].desired_state
    dropper = TableDropper(store, catalog, file_io=file_io, warehouse=warehouse, clock=clock)
    dropper.drop("shop.dropped", keep_data=True)
    page = AuditPages(store, file_io).page(AuditFilter(), limit=10)
    seen["audit"] = [entry.action for entry in reversed(page.entries)]

    leases = LeaseStore(file_io, warehouse, clock)
    holder = leases.holder(TABLE, "sales")
    seen["lease"] = None if holder is None else holder.owner
    leases.acquire(TABLE, "payments", "theirs", 600_000)

    reports = ProgressStore(file_io, warehouse, clock)
    seen["report"] = [one.runner for one in reports.read_all().runners]
    running = StreamProgress(state=StreamState.RUNNING)
    streams = {f"{TABLE}/payments": running}
    reports.write(RunnerProgress(runner="theirs", started_ms=1, updated_ms=2, streams=streams))

    backfills = BackfillReports(file_io, warehouse, clock)
    seen["backfill"] = [*backfills.read(TABLE, "sales", ["ours"])]
    report = BackfillReport(
        stream="sales", name="theirs", state=BackfillState.RUNNING, done=0.5, rows=7, updated_ms=1
    )
    backfills.write(TABLE, report)

    operations = OperationStore(file_io, warehouse, clock)
    begun = {"state": OperationState.RUNNING, "attempt": 1}
    changed = operations.change(OPERATION, lambda found: found.model_copy(update=begun))
    seen["operation"] = changed.request.kind
    requested = OperationDocument(
        id=OTHER_OPERATION,
        database="shop",
        table="orders",
        request=CompactionRequest(),
        created_ms=1,
    )
    operations.create(requested, announce=lambda: None)

    tokens = AccessTokens(file_io, warehouse, clock)
    seen["token"] = [one.name for one in tokens.stored().tokens]
    text = f"braid_{'1' * 16}_{SECRET}"
    tokens.add(token_of(text, "theirs", [Grant(scope=AccessScope.READ, tables=("*",))], now_ms=1))

    requests = RememberedRequests(file_io, warehouse, clock)
    known = requests.begin(TABLE, NamedRequest(key="ours", digest="d"))
    seen["request"] = known.body if isinstance(known, RememberedAnswer) else None
    claim = requests.begin(TABLE, NamedRequest(key="theirs", digest="d"))
    assert isinstance(claim, Claim), "nobody else has the key"
    answer = RememberedAnswer(digest="d", status=200, headers={"etag": "1"}, body="theirs")
    requests.finish(claim, answer)
    requests.begin(TABLE, NamedRequest(key="under way", digest="d"))

    questions = LetterQuestions(file_io, warehouse)
    (question,) = questions.open_questions(now_ms=0)
    seen["question"] = question.stream
    questions.answer(question.id, LetterPage(error="theirs"))
    return seen


def main() -> None:
    """Act on the warehouse that the program's argument names, and print what was read as one JSON object."""
    print(json.dumps(act(sys.argv[1])))
