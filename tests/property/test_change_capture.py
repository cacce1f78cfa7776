"""Captured changes make the rows of the database, however they are ordered, repeated and lost on their way.

The records are those of a model of a database and its connector (`tests/support/change_capture`), a million of them
in `make soak`. Each test of a fault plants one, and shows that the model tells it.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest

from braid.lake import Machine
from braid.schemas import StreamDefinition, TableSpec
from tests.property.capture_bed import CaptureBed, captured_stream, captured_table
from tests.support.change_capture.change_capture import MYSQL, POSTGRESQL, ChangeCapture
from tests.support.change_capture.log_places import CommitPlaces, MysqlPlaces, PostgresPlaces
from tests.support.change_capture.message_forms import (
    Enveloped,
    InAvro,
    MessageForm,
    Unwrapped,
    UnwrappedInAvro,
)
from tests.support.change_capture.source_table import SourceTable
from tests.support.change_capture.topic import KafkaRecord

POSITION = {"source": "change_position"}
Places: TypeAlias = type[PostgresPlaces | MysqlPlaces]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A history of changes, and how they are read.

    Attributes:
        places: The kind of the database.
        seed: Of everything.
        keys: Of each table.
        events: About so many are sent.
        batch_max: The most records of a micro-batch.
        has_late_events: Whether former connectors send events late.
        form: The form of the messages; None: JSON without schemas, with the events around the rows.
    """

    places: Places
    seed: int
    keys: int
    events: int
    batch_max: int
    has_late_events: bool = True
    form: type[MessageForm] | None = None

    @property
    def forms(self) -> list[MessageForm]:
        """The form of the messages of each table; none of plain JSON."""
        form, database = self.form, self.places.connector
        return [] if form is None else [form(table, database) for table in self.tables]

    @property
    def tables(self) -> tuple[SourceTable, ...]:
        """The tables of the database."""
        return MYSQL if self.places is MysqlPlaces else POSTGRESQL

    def capture(self) -> ChangeCapture:
        """Return the database."""
        return ChangeCapture(
            self.seed,
            places=self.places,
            tables=self.tables,
            keys=self.keys,
            events=self.events,
            has_late_events=self.has_late_events,
        )


CASES = {
    "postgresql": Case(places=PostgresPlaces, seed=1, keys=1_000, events=12_000, batch_max=2_000),
    "few keys": Case(places=PostgresPlaces, seed=2, keys=40, events=1_500, batch_max=200),
    "mysql": Case(places=MysqlPlaces, seed=3, keys=300, events=5_000, batch_max=1_000),
    "equal places": Case(
        places=CommitPlaces,
        seed=4,
        keys=40,
        events=1_500,
        batch_max=200,
        has_late_events=False,
    ),
}
FORMS = {
    f"{form.__name__} {database}": Case(
        places=places, seed=seed, keys=60, events=1_500, batch_max=250, form=form
    )
    for seed, form in enumerate((Enveloped, Unwrapped, InAvro, UnwrappedInAvro), start=11)
    for database, places in (("postgresql", PostgresPlaces), ("mysql", MysqlPlaces))
}
SMALL = Case(places=PostgresPlaces, seed=6, keys=100, events=2_000, batch_max=400)
"""A history in which each fault changes some row."""
CALM = replace(SMALL, has_late_events=False)


def ordered_table(case: Case) -> TableSpec:
    """Return the table whose groups are ordered by the position of the change."""
    return captured_table(case.tables)


def ordered_streams(case: Case, **more: Any) -> list[StreamDefinition]:
    """Return its streams."""
    database = case.places.connector
    streams = []
    for index, table in enumerate(case.tables):
        declared: dict[str, Any] = dict(case.forms[index].stream) if case.forms else {}
        given = {"format_": declared.pop("format", None), **declared, **more}
        streams.append(captured_stream(table, database, position=POSITION, **given))
    return streams


def arrival_streams(case: Case, **more: Any) -> list[StreamDefinition]:
    """Return the streams of a table whose groups are ordered by arrival alone."""
    return [captured_stream(table, case.places.connector, **more) for table in case.tables]


def ingested(
    case: Case,
    capture: ChangeCapture,
    records: Iterable[KafkaRecord],
    *,
    spec: TableSpec | None = None,
    streams: list[StreamDefinition] | None = None,
) -> CaptureBed:
    """Return the table of a case after it has read the records."""
    bed = CaptureBed(
        spec=ordered_table(case) if spec is None else spec,
        tables=case.tables,
        streams=ordered_streams(case) if streams is None else streams,
        partitions=capture.partitions,
        chance=random.Random(case.seed),
        batch_max=case.batch_max,
    )
    forms = case.forms
    bed.ingest(forms[one.table].record(one) if forms else one for one in records)
    return bed


def differences(case: Case, **given: Any) -> list[str]:
    """Return how the table differs from the model after a history."""
    capture = case.capture()
    bed = ingested(case, capture, capture.records(), **given)
    return bed.differences([capture.rows(index) for index in range(len(case.tables))])


def check(case: Case) -> CaptureBed:
    """Check that the table has the rows of the model, and what became of the records."""
    capture = case.capture()
    tombstones = 0

    def counted() -> Iterator[KafkaRecord]:
        nonlocal tombstones
        for record in capture.records():
            tombstones += record.value is None
            yield record

    bed = ingested(case, capture, counted())

    rows = [capture.rows(index) for index in range(len(case.tables))]
    assert bed.differences(rows) == []
    assert bed.examples == []
    assert bed.counts["ignored"] == tombstones
    assert bed.counts["records"] > case.events
    bed.table.compact(full=True)
    assert bed.differences(rows, machine=Machine.ROW if case.keys < 100 else Machine.COLUMN) == []
    return bed


@pytest.mark.parametrize("case", (CASES | FORMS).values(), ids=CASES | FORMS)
def test_the_table_has_the_newest_rows_of_the_database(case: Case) -> None:
    check(case)


@pytest.mark.soak
@pytest.mark.parametrize("places", [PostgresPlaces, MysqlPlaces], ids=["postgresql", "mysql"])
def test_a_million_events_make_the_rows_of_fifty_thousand_keys(places: Places) -> None:
    case = Case(places=places, seed=1, keys=50_000, events=1_000_000, batch_max=40_000)

    print(check(case).counts)


@pytest.mark.soak
@pytest.mark.parametrize("case", FORMS.values(), ids=FORMS)
def test_a_million_events_of_every_form_make_the_rows_of_fifty_thousand_keys(case: Case) -> None:
    case = replace(case, keys=50_000, events=1_000_000, batch_max=40_000)

    print(check(case).counts)


@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_arrival_gives_the_same_rows(seed: int) -> None:
    """Not only an order that Kafka may give: places alone decide, for kept values too."""
    case = Case(places=PostgresPlaces, seed=seed, keys=20, events=400, batch_max=60)
    capture = case.capture()
    records = list(capture.records())
    offsets = {(record.table, record.partition): 0 for record in records}
    random.Random(seed).shuffle(records)
    shuffled = []
    for record in records:
        place = record.table, record.partition
        shuffled.append(replace(record, offset=offsets[place]))
        offsets[place] += 1

    bed = ingested(case, capture, shuffled)

    rows = [capture.rows(index) for index in range(len(case.tables))]
    assert bed.differences(rows) == []
    assert bed.differences(rows, machine=Machine.ROW) == []


def test_arrival_alone_is_enough_only_while_no_event_is_late() -> None:
    spec = captured_table(SMALL.tables, ordering=None)

    assert differences(CALM, spec=spec, streams=arrival_streams(CALM)) == []
    assert differences(SMALL, spec=spec, streams=arrival_streams(SMALL))


def test_a_log_position_alone_is_not_enough() -> None:
    """Reads of chunks have none, and transactions overlap."""
    position = {"source": "change", "path": "source.lsn"}
    streams = [captured_stream(table, "postgresql", position=position) for table in SMALL.tables]

    assert differences(SMALL, spec=captured_table(SMALL.tables, ordering="BIGINT"), streams=streams)


def test_a_placeholder_that_is_taken_for_a_value_is_found() -> None:
    streams = ordered_streams(SMALL, format_={"unavailable_value": "another placeholder"})

    found = differences(SMALL, streams=streams)

    assert any("__debezium_unavailable_value" in difference for difference in found)


def test_values_that_are_not_kept_are_found() -> None:
    assert differences(SMALL, spec=captured_table(SMALL.tables, keeps=False))


def test_tombstones_that_are_obeyed_are_found() -> None:
    """A late one deletes a row that was created again."""
    streams = arrival_streams(CALM, on_tombstone="clear_columns")

    assert differences(CALM, spec=captured_table(CALM.tables, ordering=None), streams=streams)


def test_deletes_that_are_ignored_are_found() -> None:
    assert differences(SMALL, streams=ordered_streams(SMALL, on_delete="ignore"))
