"""Operations on the streams of a table: declaration, lifecycle, offsets and dead letters."""

from collections.abc import Sequence

from braid.client.answers import (
    OffsetsAnswer,
    StreamAnswer,
    as_model,
    as_model_unless_known,
    nothing,
)
from braid.client.operation import Call, JsonObject, Resource, operation, patch_call
from braid.schemas import (
    DeadLetters,
    DesiredState,
    LetterSelection,
    OffsetsChanged,
    OffsetsRequest,
    OffsetsValidation,
    RequestedReplay,
    StreamDefinition,
    StreamStatus,
    StreamTrial,
    VerbAnswer,
)
from braid.schemas.api import StreamValidation, Validation
from braid.schemas.merge_patch import MergePatch
from braid.schemas.pushed_records import PushAnswer, PushedRecord, PushedRecords

_STREAM = "/v1/tables/{database}/{table}/streams/{stream}"


class StreamOperations(Resource):
    """A stream of a table."""

    @operation("PUT", _STREAM)
    def put(
        self,
        definition: StreamDefinition | JsonObject,
        *,
        initial_state: DesiredState | str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[StreamAnswer]:
        """Register the stream, or change it; `if_none_match="*"` only registers. A new one starts at once, unless `initial_state` is another.

        Raises:
            InvalidRequest: The definition is refused; `errors` has each reason.
        """
        return Call(
            decode=as_model(StreamAnswer),
            query={"initial_state": initial_state},
            body=definition,
            headers={"if-match": if_match, "if-none-match": if_none_match},
            is_repeatable=if_match is None and if_none_match is None,
        )

    @operation("GET", _STREAM)
    def get(self) -> Call[StreamAnswer]:
        """Return the stream, with all defaults filled in."""
        return Call(decode=as_model(StreamAnswer))

    @operation("GET", _STREAM)
    def get_if_changed(self, etag: str) -> Call[StreamAnswer | None]:
        """Return the stream; None if it has not changed since an answer with this `etag`."""
        return Call(decode=as_model_unless_known(StreamAnswer), headers={"if-none-match": etag})

    @operation("PATCH", _STREAM)
    def patch(
        self,
        patch: MergePatch | JsonObject,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[StreamAnswer]:
        """Change only the fields of the stream's declaration that the patch has; None removes a field."""
        return patch_call(as_model(StreamAnswer), patch, if_match, if_none_match)

    @operation("POST", f"{_STREAM}/validate-patch")
    def validate_patch(self, patch: MergePatch | JsonObject) -> Call[Validation]:
        """Return what `patch` would do, and the problems for which it would refuse the same changes."""
        return patch_call(as_model(Validation), patch, is_repeatable=True)

    @operation("DELETE", _STREAM)
    def delete(
        self,
        *,
        confirm: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[None]:
        """Delete the stream, which has to be stopped, and whose name `confirm` may repeat; its rows stay."""
        return Call(
            decode=nothing,
            query={"confirm": confirm},
            headers={"if-match": if_match, "if-none-match": if_none_match},
        )

    @operation("POST", f"{_STREAM}/validate-delete")
    def validate_delete(self) -> Call[Validation]:
        """Return what `delete` would do, or why it would refuse."""
        return Call(decode=as_model(Validation), is_repeatable=True)

    @operation("POST", f"{_STREAM}/validate")
    def validate(
        self, trial: StreamTrial | JsonObject, *, initial_state: DesiredState | str | None = None
    ) -> Call[StreamValidation]:
        """Return what `put` would do, the problems for which it would refuse, and what would become of sample records."""
        return Call(
            decode=as_model(StreamValidation),
            query={"initial_state": initial_state},
            body=trial,
            is_repeatable=True,
        )

    @operation("POST", f"{_STREAM}/records")
    def push(
        self, records: Sequence[PushedRecord], *, idempotency_key: str | None = None
    ) -> Call[PushAnswer]:
        """Send up to 1,000 records to the topic of the stream; return what became of each, and a token for `read_after`.

        Args:
            records: The records.
            idempotency_key: Name of the request: the same request of a day sends its records once. Without one the client
                does not repeat a request that has failed.

        Raises:
            InvalidRequest: Operators of the service do not allow pushes to the topic.
            Conflict: The key was used for other records.
        """
        return Call(
            decode=as_model(PushAnswer),
            body=PushedRecords(root=tuple(records)),
            headers={"idempotency-key": idempotency_key},
            is_repeatable=idempotency_key is not None,
        )

    @operation("GET", f"{_STREAM}/status")
    def status(self) -> Call[StreamStatus]:
        """Return the desired state of the stream, and its state as reported."""
        return Call(decode=as_model(StreamStatus))

    @operation("POST", f"{_STREAM}/start")
    def start(self, *, idempotency_key: str | None = None) -> Call[VerbAnswer]:
        """Start the stream; one that failed or waits tries again at once."""
        return Call(
            decode=as_model(VerbAnswer),
            headers={"idempotency-key": idempotency_key},
            is_repeatable=True,
        )

    @operation("POST", f"{_STREAM}/pause")
    def pause(self, *, idempotency_key: str | None = None) -> Call[VerbAnswer]:
        """Pause the stream: it reads nothing, and its runner keeps it."""
        return Call(
            decode=as_model(VerbAnswer),
            headers={"idempotency-key": idempotency_key},
            is_repeatable=True,
        )

    @operation("POST", f"{_STREAM}/resume")
    def resume(self, *, idempotency_key: str | None = None) -> Call[VerbAnswer]:
        """Resume the stream where it was paused or stopped."""
        return Call(
            decode=as_model(VerbAnswer),
            headers={"idempotency-key": idempotency_key},
            is_repeatable=True,
        )

    @operation("POST", f"{_STREAM}/restart")
    def restart(
        self, *, only_failed: bool | None = None, idempotency_key: str | None = None
    ) -> Call[VerbAnswer]:
        """Restart the query of the stream, which has to run; with `only_failed` only if it has failed or waits for another attempt.

        Without an `idempotency_key` not repeated by itself: it would restart twice.
        """
        return Call(
            decode=as_model(VerbAnswer),
            query={"only_failed": only_failed},
            headers={"idempotency-key": idempotency_key},
            is_repeatable=idempotency_key is not None,
        )

    @operation("POST", f"{_STREAM}/stop")
    def stop(self, *, idempotency_key: str | None = None) -> Call[VerbAnswer]:
        """Stop the stream: its runner releases it."""
        return Call(
            decode=as_model(VerbAnswer),
            headers={"idempotency-key": idempotency_key},
            is_repeatable=True,
        )

    @operation("POST", f"{_STREAM}/{{verb}}/validate")
    def validate_verb(self, verb: str, *, only_failed: bool | None = None) -> Call[Validation]:
        """Return what a verb, such as `stop`, would do now, or why it would refuse."""
        return Call(
            decode=as_model(Validation),
            names={"verb": verb},
            query={"only_failed": only_failed},
            is_repeatable=True,
        )

    @operation("GET", f"{_STREAM}/offsets")
    def offsets(self) -> Call[OffsetsAnswer]:
        """Return where the stream continues, by partition."""
        return Call(decode=as_model(OffsetsAnswer))

    @operation("PUT", f"{_STREAM}/offsets")
    def set_offsets(
        self,
        request: OffsetsRequest | JsonObject,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[OffsetsChanged]:
        """Set where the stream continues, which has to be stopped."""
        return Call(
            decode=as_model(OffsetsChanged),
            body=request,
            headers={"if-match": if_match, "if-none-match": if_none_match},
        )

    @operation("POST", f"{_STREAM}/offsets/validate")
    def validate_offsets(self, request: OffsetsRequest | JsonObject) -> Call[OffsetsValidation]:
        """Return what `set_offsets` would read again, skip or refuse."""
        return Call(decode=as_model(OffsetsValidation), body=request, is_repeatable=True)

    @operation("GET", f"{_STREAM}/dead-letters")
    def dead_letters(
        self,
        *,
        reason: Sequence[str] | None = None,
        partition: int | None = None,
        offset_start: int | None = None,
        offset_end: int | None = None,
        limit: int | None = None,
        page_token: str | None = None,
    ) -> Call[DeadLetters]:
        """Return the numbers of the stream's dead letters, and a page of them; `limit=0`: the numbers alone.

        Args:
            reason: Letters of these reasons; None: of any.
            partition: Letters of this Kafka partition.
            offset_start: Letters of this offset or a later one.
            offset_end: Letters before this offset.
            limit: The largest number of letters.
            page_token: Token of the page before.
        """
        return Call(
            decode=as_model(DeadLetters),
            query={
                "reason": reason,
                "partition": partition,
                "offset_start": offset_start,
                "offset_end": offset_end,
                "limit": limit,
                "page_token": page_token,
            },
        )

    @operation("POST", f"{_STREAM}/dead-letters/replay")
    def replay_dead_letters(
        self, selection: LetterSelection | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[RequestedReplay]:
        """Have the runner of the stream write the records of dead letters, each once."""
        return Call(
            decode=as_model(RequestedReplay),
            body=selection,
            headers={"idempotency-key": idempotency_key},
            is_repeatable=idempotency_key is not None,
        )

    @operation("POST", f"{_STREAM}/dead-letters/replay/validate")
    def validate_replay(self, selection: LetterSelection | JsonObject) -> Call[Validation]:
        """Return what `replay_dead_letters` would do, or why it would be refused."""
        return Call(decode=as_model(Validation), body=selection, is_repeatable=True)

    @operation("DELETE", f"{_STREAM}/dead-letters/replay")
    def withdraw_replay(
        self, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[None]:
        """Withdraw the replay that is under way."""
        return Call(
            decode=nothing,
            headers={"if-match": if_match, "if-none-match": if_none_match},
            is_repeatable=if_match is None and if_none_match is None,
        )
