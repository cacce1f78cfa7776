"""Questions are answered once, and nothing of them stays."""

import pytest

from braid.lake import MemoryFileIO
from braid.registry.store.letter_questions import STALE_MS, LetterQuestions
from braid.registry.store.paths import letter_questions_directory
from braid.schemas import LetterPage, LetterQuery, LetterSelection


def question(query_id: str, *, asked_ms: int = 0) -> LetterQuery:
    return LetterQuery(
        id=query_id,
        table="db.t",
        stream="s",
        selection=LetterSelection(reasons=("malformed",)),
        limit=5,
        start={3: 7},
        asked_ms=asked_ms,
    )


def test_the_first_answer_counts_and_is_deleted_with_its_question(file_io: MemoryFileIO) -> None:
    questions = LetterQuestions(file_io, "/w")
    questions.ask(question("b", asked_ms=2))
    questions.ask(question("a", asked_ms=3))

    assert questions.open_questions(now_ms=3) == [
        question("b", asked_ms=2),
        question("a", asked_ms=3),
    ]
    assert questions.answer_of("a") is None
    questions.answer("a", LetterPage(next={0: 4}))
    questions.answer("a", LetterPage(error="late"))
    assert questions.answer_of("a") == LetterPage(next={0: 4})
    assert questions.open_questions(now_ms=3) == [question("b", asked_ms=2)]
    questions.forget("a")
    questions.forget("b")

    assert file_io.list(letter_questions_directory("/w")) == []


def test_what_nobody_waits_for_is_deleted(file_io: MemoryFileIO) -> None:
    questions = LetterQuestions(file_io, "/w")
    directory = letter_questions_directory("/w")
    questions.ask(question("old"))
    assert questions.open_questions(now_ms=0) == [question("old")]
    questions.ask(question("new", asked_ms=STALE_MS))
    questions.answer("forgotten", LetterPage())
    file_io.write_new(f"{directory}/broken.question.json", b"{")
    file_io.write_new(f"{directory}/other.question.json", question("id").model_dump_json().encode())

    assert questions.open_questions(now_ms=STALE_MS + 1) == [question("new", asked_ms=STALE_MS)]
    assert [status.name for status in file_io.list(directory)] == ["new.question.json"]


@pytest.mark.parametrize("asked_ms", [-3_600_000, 3_600_000], ids=["slow", "fast"])
def test_a_service_whose_clock_differs_is_answered(file_io: MemoryFileIO, asked_ms: int) -> None:
    runner = LetterQuestions(file_io, "/w")
    asked = question("a", asked_ms=asked_ms)
    LetterQuestions(file_io, "/w").ask(asked)

    assert [runner.open_questions(now_ms=now_ms) for now_ms in (0, STALE_MS)] == [[asked], [asked]]
    assert runner.open_questions(now_ms=STALE_MS + 1) == []
    assert file_io.list(letter_questions_directory("/w")) == []
