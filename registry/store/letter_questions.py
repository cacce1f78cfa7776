"""Questions of services for pages of dead letters, and the answers of runners; each is a separate document.

    service ── <id>.question.json ──► runner ── <id>.answer.json ──► service, which deletes both

No document remains. A runner deletes a question that it has seen for a minute, because its service has stopped waiting, and
an answer without a question. The runner measures this minute by its own clock, because the clock of the service may differ.
"""

from typing import Final

from pydantic import ValidationError

from braid.lake import FileIO
from braid.registry.store import paths
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import LetterPage, LetterQuery

STALE_MS: Final = 60_000
"""Time after which a runner deletes a question that it has seen, milliseconds: no service waits that long."""
_QUESTION: Final = ".question.json"
_ANSWER: Final = ".answer.json"
_QUESTIONS_MAX: Final = 100


class LetterQuestions:
    """The questions of a warehouse; `open_questions` remembers those that it has seen."""

    def __init__(self, file_io: FileIO, warehouse: str) -> None:
        self._file_io = file_io
        self._directory = paths.letter_questions_directory(warehouse)
        # By id of a question, when it was first seen.
        self._seen_ms: dict[str, int] = {}

    def ask(self, query: LetterQuery) -> None:
        """Ask; the question's id is unique."""
        path = f"{self._directory}/{query.id}{_QUESTION}"
        # A reader sees the whole file or none.
        self._file_io.create_exclusive(path, query.model_dump_json().encode())

    def answer_of(self, query_id: str) -> LetterPage | None:
        """Return the answer to a question; None: there is none yet."""
        try:
            data = self._file_io.read_bytes(f"{self._directory}/{query_id}{_ANSWER}")
        except FileNotFoundError:
            return None
        return parse_stored(LetterPage, data)

    def forget(self, query_id: str) -> None:
        """Delete a question and its answer."""
        for suffix in (_QUESTION, _ANSWER):
            self._file_io.delete(f"{self._directory}/{query_id}{suffix}")

    def open_questions(self, *, now_ms: int) -> list[LetterQuery]:
        """Return the questions without an answer, the oldest first, at most a hundred.

        Those that an earlier call of this object has seen `STALE_MS` ago are deleted. One list, and one read per
        question.

        Args:
            now_ms: Milliseconds, by the same clock in each call.
        """
        names = {
            status.name for status in self._file_io.list(self._directory) if not status.is_directory
        }
        self._seen_ms = {
            query_id: self._seen_ms.get(query_id, now_ms)
            for name in names
            if (query_id := name.removesuffix(_QUESTION)) != name
        }
        found = []
        for name in sorted(names):
            if name.endswith(_ANSWER) and name.removesuffix(_ANSWER) + _QUESTION not in names:
                self._file_io.delete(f"{self._directory}/{name}")
            if not name.endswith(_QUESTION):
                continue
            query_id = name.removesuffix(_QUESTION)
            query = self._read(name)
            is_stale = self._seen_ms[query_id] + STALE_MS < now_ms
            if query is None or query.id != query_id or is_stale:
                self.forget(query_id)
            elif query_id + _ANSWER not in names:
                found.append(query)
        return sorted(found, key=lambda query: query.asked_ms)[:_QUESTIONS_MAX]

    def answer(self, query_id: str, page: LetterPage) -> None:
        """Answer a question, unless another runner has answered it."""
        path = f"{self._directory}/{query_id}{_ANSWER}"
        self._file_io.create_exclusive(path, page.model_dump_json().encode())

    def _read(self, name: str) -> LetterQuery | None:
        try:
            return parse_stored(LetterQuery, self._file_io.read_bytes(f"{self._directory}/{name}"))
        except (FileNotFoundError, ValidationError):
            return None
