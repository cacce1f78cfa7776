import random
from itertools import pairwise

import pytest

from braid.lake.format.binary_row import encode_row
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.format.type_codec import parse_type
from braid.lake.lsm.sorted_run import Section, plan_sections

INT = (DataField(id=0, name="k", type=parse_type("INT NOT NULL")),)
TEXT_INT = (
    DataField(id=0, name="t", type=parse_type("STRING NOT NULL")),
    DataField(id=1, name="k", type=parse_type("INT NOT NULL")),
)


def file(
    low: tuple[object, ...],
    high: tuple[object, ...],
    fields: tuple[DataField, ...] = INT,
    *,
    sequence: int = 0,
) -> DataFileMeta:
    return DataFileMeta(
        file_name=f"{low}-{high}",
        file_size=1,
        row_count=1,
        min_key=encode_row(low, fields),
        max_key=encode_row(high, fields),
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=sequence,
        max_sequence_number=sequence,
        schema_id=0,
        level=0,
    )


def ints(*bounds: tuple[int, int]) -> list[DataFileMeta]:
    return [file((low,), (high,), sequence=i) for i, (low, high) in enumerate(bounds)]


def names(sections: list[Section]) -> list[list[list[str]]]:
    return [
        [[f.file_name.replace("(", "").replace(",)", "") for f in run.files] for run in s.runs]
        for s in sections
    ]


def test_the_example_of_the_specification() -> None:
    files = ints((0, 9), (5, 7), (9, 15), (16, 22), (16, 28), (24, 32))

    assert names(plan_sections(files, INT)) == [
        [["0-9"], ["5-7", "9-15"]],
        [["16-22", "24-32"], ["16-28"]],
    ]


def test_no_files_have_no_sections() -> None:
    assert plan_sections([], INT) == []


def test_files_that_share_a_bound_overlap() -> None:
    assert names(plan_sections(ints((0, 5), (5, 9)), INT)) == [[["0-5"], ["5-9"]]]
    assert names(plan_sections(ints((0, 5), (6, 9)), INT)) == [[["0-5"]], [["6-9"]]]


def test_runs_come_oldest_first() -> None:
    older, newer = file((5,), (9,), sequence=3), file((0,), (7,), sequence=8)

    (section,) = plan_sections([newer, older], INT)

    assert [run.files[0] for run in section.runs] == [older, newer]


def test_keys_compare_as_values_not_as_bytes() -> None:
    files = [
        file(("é", -1), ("é", 1), TEXT_INT),
        file(("a", 300), ("z", -5), TEXT_INT),
        file(("z", -4), ("z", 300), TEXT_INT),
    ]

    assert [s.runs[0].files[0] for s in plan_sections(files, TEXT_INT)] == [
        files[1],
        files[2],
        files[0],
    ]


@pytest.mark.parametrize("seed", range(30))
def test_sections_are_disjoint_and_hold_the_fewest_runs(seed: int) -> None:
    draw = random.Random(seed)
    bounds = [(low, low + draw.randint(0, 12)) for low in draw.choices(range(60), k=14)]
    files = ints(*bounds)
    bounds_of = dict(zip([f.min_sequence_number for f in files], bounds, strict=True))

    sections = plan_sections(draw.sample(files, len(files)), INT)

    spans = []
    for section in sections:
        runs = [[bounds_of[f.min_sequence_number] for f in run.files] for run in section.runs]
        for run in runs:
            assert all(a[1] < b[0] for a, b in pairwise(run))
        every = [bound for run in runs for bound in run]
        spans.append((min(low for low, _ in every), max(high for _, high in every)))
        # No fewer runs than files that meet at one key.
        depth = max(sum(low <= key <= high for low, high in every) for key in range(80))
        assert len(runs) == depth
    assert all(a[1] < b[0] for a, b in pairwise(spans))
    assert sum(len(run.files) for s in sections for run in s.runs) == len(files)
