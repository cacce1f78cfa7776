"""Clients with access tokens: expiry, revocation, and storage that does not answer."""

import asyncio
import logging

import pytest

from braid.lake import ManualClock, MemoryFileIO, StorageUnavailable
from braid.registry.store.access_tokens import AccessTokens, StoredTokens, random_text, token_of
from braid.schemas import ProblemCode
from braid.schemas.access import AccessScope, Grant
from braid.service.access.identities import Refusal
from braid.service.access.refreshed import RefreshTimes
from braid.service.access.token_identities import TokenIdentities

TIMES = RefreshTimes(every_s=0.0, pause_s=0.0, wait_s=30.0, kept_s=1e9)
READ = [Grant(scope=AccessScope.READ, tables=("*",))]


class Tokens(AccessTokens):
    """The tokens of a warehouse in memory, whose storage may fail."""

    is_down = False

    def stored(self) -> StoredTokens:
        if self.is_down:
            message = "no answer"
            raise StorageUnavailable(message)
        return super().stored()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def tokens(clock: ManualClock) -> Tokens:
    return Tokens(MemoryFileIO(), "/w", clock)


def make(tokens: Tokens, clock: ManualClock, name: str, *, expires_ms: int | None = None) -> str:
    text = random_text()
    token = token_of(text, name, READ, now_ms=clock.now_ms(), expires_ms=expires_ms)
    tokens.add(token)
    return text


def found(identities: TokenIdentities, token: str) -> str:
    return asyncio.run(identities.found(token.encode())).name


def refused(identities: TokenIdentities, token: str) -> tuple[str, str]:
    assert identities.known(token.encode()) is None
    with pytest.raises(Refusal) as caught:
        found(identities, token)
    return caught.value.code, caught.value.detail


def test_a_bearer_is_known_without_waiting_once_its_token_is_loaded(
    tokens: Tokens, clock: ManualClock
) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    one, other = make(tokens, clock, "one"), make(tokens, clock, "other")

    assert identities.known(one.encode()) is None
    assert found(identities, one) == "one"
    known = [identities.known(token.encode()) for token in (one, other)]
    assert [principal and principal.name for principal in known] == ["one", "other"]


def test_a_document_that_replaces_one_of_its_version_is_loaded(clock: ManualClock) -> None:
    file_io = MemoryFileIO()
    tokens = Tokens(file_io, "/w", clock)
    identities = TokenIdentities(tokens, clock, times=TIMES)
    one = make(tokens, clock, "one")
    found(identities, one)
    file_io.delete_tree("/w/_braid/access-tokens")
    other = make(tokens, clock, "other")

    assert found(identities, other) == "other"
    assert refused(identities, one)[0] is ProblemCode.UNAUTHENTICATED
    assert tokens.stored().version == 1


def test_a_revoked_token_is_refused_with_the_next_load(tokens: Tokens, clock: ManualClock) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    one, other = make(tokens, clock, "one"), make(tokens, clock, "other")
    found(identities, one)
    tokens.revoke("one")

    found(identities, other)  # from the view: nothing is loaded
    assert identities.known(one.encode()) is not None
    asyncio.run(identities._view.newer())

    assert refused(identities, one)[0] == ProblemCode.UNAUTHENTICATED
    assert identities.known(other.encode()) is not None


def test_a_token_expires_at_its_time(tokens: Tokens, clock: ManualClock) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    token = make(tokens, clock, "short", expires_ms=clock.now_ms() + 1_000)
    assert found(identities, token) == "short"

    clock.advance(ms=999)
    assert identities.known(token.encode()) is not None
    clock.advance(ms=1)

    code, detail = refused(identities, token)
    assert code == ProblemCode.UNAUTHENTICATED
    assert detail == "the access token `short` has expired at 2023-11-14T22:13:21.000Z"


def test_the_secret_decides_and_not_the_id(tokens: Tokens, clock: ManualClock) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    one, other = make(tokens, clock, "one"), make(tokens, clock, "other")
    found(identities, one)

    forged = "_".join([*one.split("_", 2)[:2], other.split("_", 2)[2]])

    assert refused(identities, forged)[0] == ProblemCode.UNAUTHENTICATED


def test_while_storage_is_down_known_tokens_are_valid_and_others_cannot_be_judged(
    tokens: Tokens, clock: ManualClock
) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    one = make(tokens, clock, "one")
    found(identities, one)
    late = make(tokens, clock, "late")
    tokens.is_down = True

    assert found(identities, one) == "one"
    code, detail = refused(identities, late)
    assert code == ProblemCode.STORAGE_UNAVAILABLE
    assert "not known whether" in detail
    tokens.is_down = False
    assert found(identities, late) == "late"


def test_known_tokens_are_not_valid_for_ever_without_storage(
    tokens: Tokens, clock: ManualClock
) -> None:
    times = RefreshTimes(every_s=0.0, pause_s=0.0, wait_s=30.0, kept_s=0.0)
    identities = TokenIdentities(tokens, clock, times=times)
    one = make(tokens, clock, "one")
    assert found(identities, one) == "one"
    tokens.is_down = True

    assert refused(identities, one)[0] == ProblemCode.STORAGE_UNAVAILABLE


def test_a_bearer_stays_the_same_while_the_tokens_do(tokens: Tokens, clock: ManualClock) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    one = make(tokens, clock, "one")
    found(identities, one)
    before = identities.known(one.encode())
    asyncio.run(identities._view.newer())

    assert identities.known(one.encode()) is before


def test_a_warehouse_without_tokens_is_logged(
    tokens: Tokens, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    identities = TokenIdentities(tokens, clock, times=TIMES)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            asyncio.run(identities._view.newer())

    assert caplog.messages == ["the warehouse has no access tokens: `braid token create` makes one"]
