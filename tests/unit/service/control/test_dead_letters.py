"""A page is waited for as long as a request may take, and no longer."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.errors import NoRunnerAnswers
from braid.registry.store.letter_questions import LetterQuestions
from braid.schemas import LetterSelection
from braid.service.control.dead_letters import LetterReader


def test_without_a_runner_the_wait_ends_and_the_question_is_gone() -> None:
    file_io = MemoryFileIO()
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    reader = LetterReader(
        LetterQuestions(file_io, "/w"),
        ManualClock(),
        wait_seconds=3,
        sleep=sleep,
        monotonic_s=lambda: passed[0],
    )

    with pytest.raises(NoRunnerAnswers, match=r"no runner of the stream db\.t/s has answered"):
        reader.page("db.t", "s", LetterSelection(), limit=5, page_token=None)

    assert 3 <= passed[0] < 3.2
    assert not file_io.list("/w/_braid/letter-questions")
