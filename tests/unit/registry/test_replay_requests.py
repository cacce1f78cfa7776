"""A replay is requested where its result can be right, and one at a time."""

from typing import Any

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.errors import DefinitionRefused, RegistryConflict
from braid.registry.registrar import Registrar
from braid.registry.rules.replay_rules import counts_repetitions
from braid.registry.store.documents import RegistryStore
from braid.registry.store.stored_documents import DEAD_LETTER_REPLAYS
from braid.schemas import LetterSelection, ReplayResult, StreamDefinition, TableSpec
from tests.unit.registry.shop import definition, orders

ALL = LetterSelection()
RESULT = ReplayResult(finished_ms=9, accepted=3)


@pytest.fixture
def registrar(file_io: MemoryFileIO, clock: ManualClock) -> Registrar:
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream("shop.orders", "sales", definition())
    return registrar


def test_a_request_waits_for_its_result_and_marks_the_table(registrar: Registrar) -> None:
    request = registrar.request_replay("shop.orders", "sales", ALL, request_id="r1")
    again = registrar.request_replay("shop.orders", "sales", ALL, request_id="r2")
    registrar.end_replay("shop.orders", "sales", request_id="r1", result=RESULT)

    assert (request.id, request.result) == ("r1", None)
    assert again == request
    document = registrar.document("shop.orders")
    assert document.streams["sales"].replay == request.model_copy(update={"result": RESULT})
    assert document.features == (DEAD_LETTER_REPLAYS,)
    assert registrar.request_replay("shop.orders", "sales", ALL, request_id="r3").id == "r3"


def test_another_selection_waits_until_the_first_has_ended_or_is_withdrawn(
    registrar: Registrar,
) -> None:
    other = LetterSelection(reasons=("malformed",))
    registrar.request_replay("shop.orders", "sales", ALL, request_id="r1")

    with pytest.raises(RegistryConflict, match="is under way"):
        registrar.request_replay("shop.orders", "sales", other, request_id="r2")
    registrar.withdraw_replay("shop.orders", "sales")
    registrar.end_replay("shop.orders", "sales", request_id="r1", result=RESULT)

    assert registrar.document("shop.orders").streams["sales"].replay is None
    assert registrar.request_replay("shop.orders", "sales", other, request_id="r2").id == "r2"


def test_a_result_is_not_withdrawn(registrar: Registrar) -> None:
    registrar.request_replay("shop.orders", "sales", ALL, request_id="r1")
    registrar.end_replay("shop.orders", "sales", request_id="r1", result=RESULT)
    registrar.withdraw_replay("shop.orders", "sales")

    replay = registrar.document("shop.orders").streams["sales"].replay
    assert replay is not None
    assert replay.result == RESULT


def test_results_of_two_runners_add_up(registrar: Registrar) -> None:
    registrar.request_replay("shop.orders", "sales", ALL, request_id="r1")
    first = ReplayResult(finished_ms=8, accepted=3, folded=1, failed_again={"malformed": 2})
    second = ReplayResult(finished_ms=9, accepted=4, ignored=1, failed_again={"malformed": 2})
    for result in (first, second):
        registrar.end_replay("shop.orders", "sales", request_id="r1", result=result)

    replay = registrar.document("shop.orders").streams["sales"].replay
    assert replay is not None
    assert replay.result == ReplayResult(
        finished_ms=9, accepted=7, folded=1, ignored=1, failed_again={"malformed": 2}
    )


def test_a_reason_that_does_not_exist_is_refused(registrar: Registrar) -> None:
    with pytest.raises(DefinitionRefused) as caught:
        registrar.check_replay("shop.orders", "sales", LetterSelection(reasons=("too_big",)))

    (problem,) = caught.value.problems
    assert problem.pointer == "/reasons/0"
    assert "too_large" in str(problem.hint)


def _table(**table: Any) -> TableSpec:
    declared = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "n", "type": "BIGINT"}],
        "primary_key": ["id"],
    }
    return TableSpec.model_validate(declared | table)


SUM = [
    {"name": "id", "type": "BIGINT"},
    {"name": "n", "type": "BIGINT", "aggregate": {"function": "sum"}},
]
LAST = [
    {"name": "id", "type": "BIGINT"},
    {"name": "n", "type": "BIGINT", "aggregate": {"function": "last_value"}},
]


@pytest.mark.parametrize(
    ("table", "stream", "expected"),
    [
        ({"merge_engine": "deduplicate"}, {}, "ordered by when they were written"),
        (
            {"merge_engine": "deduplicate", "options": {"sequence.field": "n"}},
            {},
            "ordered by when",
        ),
        ({"merge_engine": "first-row"}, {}, "the row that was written first"),
        ({"merge_engine": "aggregation", "columns": LAST}, {}, "ordered by when"),
        ({"merge_engine": "partial-update", "unordered": "allowed"}, {}, "ordered by when"),
        (
            {"merge_engine": "deduplicate", "deletes": "remove_row"},
            {
                "on_tombstone": "remove_row",
                "columns": [{"column": "id", "source": "key"}, {"column": "n"}],
            },
            "removes rows",
        ),
        ({"merge_engine": "aggregation", "columns": SUM}, {}, None),
        (
            {"sequence_groups": [{"name": "s", "columns": ["n"]}]},
            {"partitioned_by_key": True},
            None,
        ),
    ],
)
def test_tables_that_do_not_store_the_place_of_a_record_are_refused_in_words(
    file_io: MemoryFileIO,
    clock: ManualClock,
    table: dict[str, Any],
    stream: dict[str, Any],
    expected: str | None,
) -> None:
    registrar = Registrar(
        RegistryStore(file_io, "/w", clock), Catalog("/w", file_io=file_io, clock=clock), clock
    )
    registrar.put_table("shop", "t", _table(**table))
    registrar.put_stream("shop.t", "s", StreamDefinition.model_validate({"topic": "t", **stream}))

    if expected is None:
        registrar.check_replay("shop.t", "s", ALL)
        return
    with pytest.raises(DefinitionRefused) as caught:
        registrar.check_replay("shop.t", "s", ALL)
    (problem,) = caught.value.problems
    assert expected in problem.message
    assert "would win over newer ones" in problem.message


def test_functions_that_count_a_value_again_are_known(registrar: Registrar) -> None:
    document = registrar.document("shop.orders")
    table = _table(merge_engine="aggregation", columns=SUM)
    registrar.put_table("shop", "t", table)
    registrar.put_stream("shop.t", "s", definition("t"))

    assert not counts_repetitions(document.table, document.streams["sales"].spec)
    assert counts_repetitions(table, registrar.entry("shop.t", "s").spec)
