"""Execution of operations: attempts, of which each can be canceled, and ends with a result or a problem.

The caller has the operation's lease. Should another process have begun an attempt nevertheless, the older attempt ends at its next
look at the document, which counts them. A failure that can pass by itself is followed by another attempt after a pause. After `ATTEMPTS_MAX` attempts that have done no part of the work the operation has failed.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from braid.lake import Clock, LakeError
from braid.registry.errors import OperationNotFound, RegistryError
from braid.registry.store.operations import OperationStore
from braid.schemas import (
    OperationDocument,
    OperationProblem,
    OperationProgress,
    OperationState,
    ProblemCode,
)
from braid.service.operations.operation_work import OperationWork

ATTEMPTS_MAX: Final = 5
_PAUSE_MS: Final = 5_000
"""Pause after the first failure; it doubles with each further one."""

DescribeError = Callable[[Exception], OperationProblem]
"""Returns the problem that an error of the engine or the registry is."""

logger = logging.getLogger(__name__)


class _Canceled(Exception):
    """The operation is to end."""


class _Superseded(Exception):
    """Another attempt has begun, or the operation has ended."""


class OperationExecutor:
    """Carries operations out in the calling thread."""

    def __init__(
        self,
        operations: OperationStore,
        work: OperationWork,
        *,
        clock: Clock,
        describe: DescribeError,
    ) -> None:
        """Create the executor.

        Args:
            operations: The operations of the warehouse.
            work: Does the work.
            clock: Gives the times of the documents.
            describe: Returns the problem of an error.
        """
        self._operations = operations
        self._work = work
        self._clock = clock
        self._describe = describe

    def execute(self, operation_id: str) -> None:
        """Make one attempt at an operation, whose lease the caller has; nothing if it has ended, or is not due.

        Raises:
            LakeError: Storage does not answer; another attempt follows.
        """
        with suppress(OperationNotFound, _Superseded):
            document = self._operations.change(operation_id, self._begun)
            if document.state is OperationState.RUNNING and not self._is_early(document):
                self._attempt(document)

    def _begun(self, document: OperationDocument) -> OperationDocument:
        if self._is_early(document):
            return document
        return document.model_copy(
            update={
                "state": OperationState.RUNNING,
                "attempt": document.attempt + 1,
                "fruitless": document.fruitless + 1,
                "started_ms": document.started_ms or self._clock.now_ms(),
                "retry_ms": None,
            }
        )

    def _is_early(self, document: OperationDocument) -> bool:
        return document.retry_ms is not None and document.retry_ms > self._clock.now_ms()

    def _attempt(self, document: OperationDocument) -> None:
        attempt = _Attempt(self._operations, document)
        try:
            if document.fruitless > ATTEMPTS_MAX:
                self._end(attempt, OperationState.FAILED, problem=_given_up(document))
                return
            result = self._work.do(document, attempt)
        except _Canceled:
            self._end(attempt, OperationState.CANCELED)
        except (LakeError, RegistryError) as error:
            self._fail(attempt, error)
        except Exception:
            logger.exception("operation failed id=%s", document.id)
            detail = "the service failed; the log has the reason, under the operation's id"
            problem = OperationProblem(code=ProblemCode.INTERNAL_ERROR, detail=detail)
            self._end(attempt, OperationState.FAILED, problem=problem)
        else:
            self._end(attempt, OperationState.SUCCEEDED, result=result)

    def _fail(self, attempt: "_Attempt", error: LakeError | RegistryError) -> None:
        """End the operation, or have it begun again if the error can pass."""
        problem = self._describe(error)
        number = attempt.number
        logger.warning("operation failed id=%s attempt=%d error=%s", attempt.id, number, error)
        if not error.retryable or attempt.fruitless >= ATTEMPTS_MAX:
            self._end(attempt, OperationState.FAILED, problem=problem)
            return
        retry_ms = self._clock.now_ms() + _PAUSE_MS * 2 ** max(0, attempt.fruitless - 1)
        attempt.change({"problem": problem, "retry_ms": retry_ms})

    def _end(
        self,
        attempt: "_Attempt",
        state: OperationState,
        *,
        result: dict[str, object] | None = None,
        problem: OperationProblem | None = None,
    ) -> None:
        """Store the end of the operation, unless another attempt has begun."""
        ended = attempt.change(
            {"result": result, "problem": problem, "finished_ms": self._clock.now_ms()}
        )
        # Not a version: the document of an operation that has ended is another file.
        self._operations.finish(ended.model_copy(update={"state": state}))


class _Attempt:
    """One attempt at an operation, which writes its document as long as it is the newest one."""

    def __init__(self, operations: OperationStore, document: OperationDocument) -> None:
        self.id = document.id
        self.number = document.attempt
        self.fruitless = document.fruitless
        self._operations = operations

    def proceed(self, progress: OperationProgress | None = None) -> None:
        update: dict[str, object] = {} if progress is None else {"progress": progress}
        if progress is not None and progress.done:  # else a long compaction fails for its length
            self.fruitless = update["fruitless"] = 0
        document = self.change(update)
        if document.cancel_requested:
            raise _Canceled

    def begin_rollback(self, newest: str) -> str:
        document = self._operations.change(
            self.id,
            lambda found: self._checked(found).model_copy(
                update={"newest_before": found.newest_before or newest}
            ),
        )
        return self._checked(document).newest_before or newest

    def change(self, update: dict[str, object]) -> OperationDocument:
        """Change the document and return it.

        Raises:
            _Superseded: Another attempt has begun, or ended the operation.
        """
        return self._checked(
            self._operations.change(
                self.id, lambda found: self._checked(found).model_copy(update=update)
            )
        )

    def _checked(self, document: OperationDocument) -> OperationDocument:
        if document.attempt != self.number or document.state is not OperationState.RUNNING:
            raise _Superseded
        return document


def _given_up(document: OperationDocument) -> OperationProblem:
    if document.problem is not None:
        return document.problem
    detail = f"{ATTEMPTS_MAX} processes in a row have ended before a part of the work was done, perhaps for lack of memory"
    return OperationProblem(code=ProblemCode.INTERNAL_ERROR, detail=detail)
