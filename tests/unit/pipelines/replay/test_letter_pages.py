"""Pages have every letter of the stream once, whatever their size."""

from itertools import chain

import pytest

from braid.pipelines.replay.letter_pages import PAGE_BYTES, SECONDS_MAX, read_page
from braid.pipelines.replay.replay_run import judge_of
from braid.schemas import LetterPage, LetterSelection
from tests.support.replay_bed import GivenTarget, ReplayBed
from tests.unit.pipelines.replay.test_replay_run import NARROW, SPEC, long, row
from tests.unit.records.given_streams import given_plan


class Clock:
    """Moves on with each look."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def pages(
    bed: ReplayBed, *, limit: int, clock: Clock | None = None, **selection: object
) -> list[LetterPage]:
    found: list[LetterPage] = []
    judge = judge_of(GivenTarget(bed, bed.plan).target())
    while not found or found[-1].next is not None:
        found.append(
            read_page(
                bed.letters,
                judge,
                LetterSelection.model_validate(selection),
                limit=limit,
                start=found[-1].next if found else None,
                monotonic_s=clock or Clock(),
            )
        )
    return found


@pytest.fixture
def bed() -> ReplayBed:
    bed = ReplayBed(SPEC, **NARROW)
    bed.ingest([long(1, 1), b"{", row(2, 1), b"\xff\xfe", None, long(3, 1)])
    return bed


def _offsets(found: list[LetterPage]) -> list[list[int]]:
    return [[letter.offset for letter in page.letters] for page in found]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1, [[0], [1], [3], [4], [5]]), (2, [[0, 1], [3, 4], [5]]), (5, [[0, 1, 3, 4, 5]])],
)
def test_pages_continue_where_the_one_before_ended(
    bed: ReplayBed, limit: int, expected: list[list[int]]
) -> None:
    assert [page for page in _offsets(pages(bed, limit=limit)) if page] == expected


def test_a_letter_is_shown_with_its_standing(bed: ReplayBed) -> None:
    bed.replay(given_plan(SPEC), offsets={"0": {"start": 5, "end": 6}})
    bed.ingest([b"not committed"], is_committed=False)

    (page,) = pages(bed, limit=100)

    assert [(one.offset, one.reason, one.standing) for one in page.letters] == [
        (0, "too_large", "open"),
        (1, "malformed", "open"),
        (3, "malformed", "open"),
        (4, "tombstone", "open"),
        (5, "too_large", "replayed"),
        (6, "malformed", "not_committed"),
    ]
    assert page.letters[2].value == "\ufffd\ufffd"
    assert (page.letters[3].value, page.letters[3].value_bytes) == (None, 0)
    assert page.letters[0].sent_ms == 1_000


def test_reasons_select(bed: ReplayBed) -> None:
    assert _offsets(pages(bed, limit=9, reasons=["tombstone"])) == [[4]]


def test_large_letters_make_short_pages_and_are_shown_in_part() -> None:
    bed = ReplayBed(SPEC)
    bed.ingest([("é" * 4_000).encode()] * 1_200)

    found = pages(bed, limit=1_000)

    assert len(found) >= 2
    assert list(chain.from_iterable(_offsets(found))) == list(range(1_200))
    assert all(len(one.value or "") == 1_000 for page in found for one in page.letters)
    assert (
        max(sum(len(one.value or "") for one in page.letters) for page in found)
        <= PAGE_BYTES + 1_000
    )


def test_a_slow_topic_makes_short_pages(bed: ReplayBed) -> None:
    found = pages(bed, limit=100, clock=Clock(SECONDS_MAX))

    assert len(found) > 1
    assert list(chain.from_iterable(_offsets(found))) == [0, 1, 3, 4, 5]
