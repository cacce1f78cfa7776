"""Schema changes of micro-batches: how many, and which refused fields are remembered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from braid.formats.json.message import read_message
from braid.formats.mapped_column import MappedColumn
from braid.lake import ManualClock, StorageUnavailable, Table
from braid.pipelines.plan_changes.current_plan import CurrentPlan
from braid.pipelines.sink.field_evolution import ROUNDS_MAX, FieldEvolution
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.records.new_fields.value_shape import shape_of
from braid.records.stream_plan import StreamPlan
from tests.unit.records.given_streams import given_plan, given_spec, given_table

SPEC = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})
DELTA = SchemaDelta(new={("tip",): shape_of(1), ("fee",): shape_of("x")})


@dataclass
class Declared:
    """A declaration that an evolver changes, and a plan source reads."""

    plan: StreamPlan
    added: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    asked: list[SchemaDelta] = field(default_factory=list)
    error: Exception | None = None

    def evolve(self, plan: StreamPlan, delta: SchemaDelta) -> Mapping[str, str]:
        self.asked.append(delta)
        if self.error is not None:
            raise self.error
        known = {column.path for column in plan.columns}
        new = [path for path in delta.new if path[-1] in self.added and path not in known]
        if new:
            columns = tuple(
                MappedColumn(name=path[-1], path=path, type=plan.columns[1].type) for path in new
            )
            self.plan = replace(plan, columns=plan.columns + columns, version=plan.version + 1)
        return self.refused

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        del plan, table
        return self.plan


@dataclass
class Bench:
    declared: Declared = field(
        default_factory=lambda: Declared(given_plan(SPEC, on_new_field="evolve"))
    )
    table: Table = field(default_factory=lambda: given_table(SPEC))

    def __post_init__(self) -> None:
        self.evolution = FieldEvolution(self.declared)
        self.current = CurrentPlan(
            self.declared.plan, table=self.table, source=self.declared, clock=ManualClock()
        )

    def evolve(self, delta: SchemaDelta = DELTA) -> None:
        self.evolution.evolve(self.current, delta)

    def reader(self) -> UndeclaredFieldReader:
        found = self.evolution.reader(self.current.plan, self.table)
        assert found is not None
        return found

    def refusal(self, message: bytes) -> str:
        """Why a message has no place."""
        with pytest.raises(UnrepresentableFieldError) as caught:
            self.reader().read(read_message(message))
        return str(caught.value).partition(": ")[2]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("on_new_field", ["ignore", "reject"])
def test_only_evolving_streams_have_a_field_reader(on_new_field: str) -> None:
    plan = given_plan(SPEC, on_new_field=on_new_field)

    assert FieldEvolution(None).reader(plan, given_table(SPEC)) is None


def test_a_field_that_became_a_column_is_declared(bench: Bench) -> None:
    bench.declared.added = ("tip", "fee")
    bench.evolve()

    assert [column.name for column in bench.current.plan.columns[3:]] == ["tip", "fee"]
    assert not bench.reader().read(read_message(b'{"tip": 1, "fee": 2}'))


def test_a_refused_field_is_not_declared_again(bench: Bench) -> None:
    bench.declared.added, bench.declared.refused = ("tip",), {"fee": "the rules say no"}
    bench.evolve()

    assert bench.refusal(b'{"fee": 1}') == "the rules say no"
    bench.evolution.begin()
    assert bench.refusal(b'{"fee": 1}') == "the rules say no"
    assert len(bench.declared.asked) == 1


def test_a_field_that_is_left_out_without_a_reason_is_beyond_the_limit(bench: Bench) -> None:
    bench.declared.added = ("tip",)
    bench.evolve(replace(DELTA, wider={"a": shape_of("x")}))

    limit = "the stream has as many columns as `columns_max` allows"
    assert bench.refusal(b'{"fee": 1}') == limit
    assert bench.refusal(b'{"a": 3000000000}') == limit


def test_a_name_that_another_new_field_took_is_the_reason(bench: Bench) -> None:
    bench.declared.added = ("tip",)
    bench.evolve(SchemaDelta(new={("x", "tip"): shape_of(1), ("tip",): shape_of("t")}))
    bench.evolve(SchemaDelta(new={("Tip",): shape_of(1)}))

    assert "`columns_max`" not in bench.refusal(b'{"Tip": 1}')
    assert bench.refusal(b'{"Tip": 1}') == (
        "the table already has a column tip, and the stream does not fill it from this field"
    )


def test_another_declaration_asks_for_refused_fields_again(bench: Bench) -> None:
    bench.declared.refused = {"tip": "no", "fee": "no"}
    bench.evolve()
    assert bench.refusal(b'{"fee": 1}') == "no"
    bench.declared.plan = replace(bench.declared.plan, version=9)
    bench.current.request_refresh()

    assert bench.reader().read(read_message(b'{"fee": 1}')).new


def test_rounds_of_a_micro_batch_are_bounded(bench: Bench) -> None:
    for number in range(ROUNDS_MAX):
        name = f"field{number}"
        bench.declared.added = (name,)
        bench.evolve(SchemaDelta(new={(name,): shape_of(1)}))

    assert bench.refusal(b'{"tip": 1}') == "too many new fields came at once"
    bench.evolution.begin()
    assert bench.reader().read(read_message(b'{"tip": 1}')).new


def test_names_that_are_refused_are_bounded(bench: Bench) -> None:
    bench.declared.refused = {f"field{number}": "no" for number in range(1_000)}
    bench.evolve()
    bench.evolution.begin()

    assert bench.refusal(b'{"tip": 1}').endswith("`columns_max` allows")
    assert bench.refusal(b'{"other": 1}') == "too many new fields came at once"


def test_without_an_evolver_everything_new_is_refused(bench: Bench) -> None:
    reader: Any = FieldEvolution(None).reader(bench.current.plan, bench.table)

    with pytest.raises(UnrepresentableFieldError, match="too many new fields"):
        reader.read(read_message(b'{"tip": 1}'))


def test_an_error_of_the_registry_is_raised(bench: Bench) -> None:
    bench.declared.error = StorageUnavailable("away")

    with pytest.raises(StorageUnavailable, match="away"):
        bench.evolve()
