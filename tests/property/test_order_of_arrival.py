"""The newest of one stream's records wins, to the last tie, under every schedule (decision 0024).

Histories have equal and missing ordering values, deletes that clear columns, records that lack the field of a
kept column, topics that are exchanged and partitions that are added; schedules interleave the steps of three streams with compactions, so that
sequence numbers say nothing about which record is newer.
"""

import random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake import Machine
from tests.property.arrival_bed import ArrivalBed

BOTH = pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@FEW
@given(st.randoms(use_true_random=False), st.sampled_from(Machine))
def test_any_schedule_leaves_the_newest_record_of_each_group(
    chance: random.Random, machine: Machine
) -> None:
    bed = ArrivalBed(chance=chance, machine=machine)
    bed.live(chance.randint(10, 40))

    assert bed.found() == bed.expected()
    bed.table.compact(full=True, machine=machine)
    assert bed.found() == bed.expected()


@BOTH
def test_records_of_an_exchanged_topic_are_newer_than_those_of_the_former_one(
    machine: Machine,
) -> None:
    bed = ArrivalBed(chance=random.Random(1), machine=machine)
    for _ in range(3):
        given_record(bed, "shipping")

    bed.take_over("shipping", partitions=1)
    given_record(bed, "shipping")

    newest = bed.produced - 1
    assert bed.found()[0]["shipping"] == (newest, "upsert", (1, 0, 0))


@BOTH
def test_records_of_a_key_that_moved_to_an_added_partition_are_newer(machine: Machine) -> None:
    bed = ArrivalBed(chance=random.Random(1), machine=machine)
    bed.take_over("shipping", partitions=1)
    given_record(bed, "shipping", key=1)
    given_record(bed, "shipping", key=1)

    bed.add_partitions("shipping")
    given_record(bed, "shipping", key=1)

    newest = bed.produced - 1
    assert bed.found()[1]["shipping"] == (newest, "upsert", (2, 1, 0))


def given_record(bed: ArrivalBed, group: str, *, key: int = 0) -> None:
    """Produce one record, and read it."""
    bed.produce(group, key=key, declared=1, is_delete=False)
    while bed.sources[group].has_more:
        list(bed.micro_batch(group))
