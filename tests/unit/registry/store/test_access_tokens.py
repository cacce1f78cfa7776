"""Access tokens on storage."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from braid.lake import CorruptData, InvalidRequest, ManualClock, MemoryFileIO
from braid.registry.store.access_tokens import (
    TOKENS_MAX,
    AccessTokens,
    random_text,
    token_digest,
    token_id,
    token_of,
)
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.documents import RegistryStore
from braid.registry.store.paths import access_tokens_directory
from braid.schemas import Actor
from braid.schemas.access import AccessScope, AccessToken, Grant

READ_SHOP = Grant(scope=AccessScope.READ, tables=("shop.*",))
NOW_MS = 1_700_000_000_000


@pytest.fixture
def tokens(file_io: MemoryFileIO) -> AccessTokens:
    return AccessTokens(file_io, "/w", ManualClock())


def made(name: str) -> AccessToken:
    return token_of(random_text(), name, [READ_SHOP], now_ms=NOW_MS)


def documents(file_io: MemoryFileIO) -> list[bytes]:
    directory = access_tokens_directory("/w")
    return [file_io.read_bytes(one.path) for one in file_io.list(directory)]


def test_a_token_has_an_id_and_a_secret_of_256_random_bits() -> None:
    text = random_text(bytes)
    token = token_of(text, "t", [READ_SHOP], now_ms=NOW_MS)

    assert text == f"braid_{'0' * 16}_{'A' * 43}"
    assert token_id(text.encode()) == token.id.encode() == b"0" * 16
    assert token.digest == hashlib.sha256(text.encode()).hexdigest()
    assert token.digest == token_digest(text.encode()).hex()


def test_no_two_tokens_are_equal() -> None:
    assert len({random_text() for _ in range(100)}) == 100


def test_the_text_of_a_token_is_not_stored(tokens: AccessTokens, file_io: MemoryFileIO) -> None:
    text = random_text()
    token = token_of(text, "t", [READ_SHOP], now_ms=NOW_MS)
    tokens.add(token)

    (stored,) = documents(file_io)
    assert token.digest.encode() in stored
    assert text.split("_", 2)[2].encode() not in stored


def test_two_tokens_cannot_have_one_id(tokens: AccessTokens) -> None:
    first, second = (
        token_of(f"braid_{'0' * 16}_{letter * 43}", letter, [READ_SHOP], now_ms=NOW_MS)
        for letter in "ab"
    )
    tokens.add(first)

    with pytest.raises(InvalidRequest, match="the token 'a' has the same id, 0000"):
        tokens.add(second)
    tokens.add(first)
    assert tokens.stored().tokens == (first,)


def test_tokens_are_listed_by_name_and_removed(tokens: AccessTokens) -> None:
    assert tokens.stored().version == 0
    first, second = made("b"), made("a")
    tokens.add(first)
    tokens.add(second)

    assert tokens.stored().tokens == (second, first)
    tokens.revoke("b")
    assert tokens.stored().tokens == (second,)
    assert tokens.stored().version == 3


def test_a_name_is_used_once_until_it_is_revoked(tokens: AccessTokens) -> None:
    tokens.add(made("a"))

    with pytest.raises(InvalidRequest, match="named 'a' already"):
        tokens.add(made("a"))
    tokens.revoke("a")
    tokens.add(made("a"))
    with pytest.raises(InvalidRequest, match="no token is named 'x'"):
        tokens.revoke("x")


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", ".x", "x" * 129, "a\n", "ü"])
def test_a_name_that_could_mislead_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="expected letters"):
        made(name)


def test_a_token_needs_grants_and_a_future() -> None:
    with pytest.raises(InvalidRequest, match="between 1 and 100 grants"):
        token_of(random_text(), "t", [], now_ms=NOW_MS)
    with pytest.raises(InvalidRequest, match="expired already"):
        token_of(random_text(), "t", [READ_SHOP], now_ms=NOW_MS, expires_ms=NOW_MS)


def test_the_same_token_is_added_once(tokens: AccessTokens) -> None:
    text = f"braid_{'0' * 16}_{'ab' * 32}"
    for now_ms in (NOW_MS, NOW_MS + 1):
        tokens.add(token_of(text, "given", [READ_SHOP], now_ms=now_ms))

    assert tokens.stored().version == 1
    write = Grant(scope=AccessScope.WRITE, tables=("shop.*",))
    with pytest.raises(InvalidRequest, match="named 'given' already"):
        tokens.add(token_of(text, "given", [write], now_ms=NOW_MS))


@pytest.mark.parametrize(
    "text",
    [
        *("", "secret", "braid_0_x", f"x_{'0' * 16}_{'A' * 43}", f"braid_{'G' * 16}_{'A' * 43}"),
        *(f"braid_{'0' * 16}_{'A' * 42}", f"braid_{'0' * 16}_{'A' * 101}"),
        f"braid_{'0' * 16}_{'A' * 43}\n",
    ],
)
def test_a_text_that_could_be_guessed_is_no_token(text: str) -> None:
    with pytest.raises(InvalidRequest, match="32 random bytes"):
        token_of(text, "t", [READ_SHOP], now_ms=NOW_MS)


def test_there_is_a_bound(tokens: AccessTokens, file_io: MemoryFileIO) -> None:
    entries = [made(f"t{number}").model_dump(mode="json") for number in range(TOKENS_MAX)]
    path = f"{access_tokens_directory('/w')}/{1:020d}.json"
    file_io.write_new(path, orjson.dumps({"tokens": entries}))

    with pytest.raises(InvalidRequest, match="revoke those"):
        tokens.add(made("more"))
    tokens.revoke("t7")
    tokens.add(made("more"))


def test_writers_at_once_lose_nothing(tokens: AccessTokens) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: tokens.add(made(f"t{n}")), range(16)))

    assert len(tokens.stored().tokens) == 16


def test_what_a_newer_version_has_written_is_kept_and_not_used(
    tokens: AccessTokens, file_io: MemoryFileIO
) -> None:
    narrow = made("narrow").model_dump(mode="json")
    narrow["grants"][0]["masked"] = ["salary"]
    content = {"tokens": [narrow], "kind": "new"}
    path = f"{access_tokens_directory('/w')}/{1:020d}.json"
    file_io.write_new(path, orjson.dumps(content))

    assert tokens.stored().tokens == ()
    assert tokens.stored().unreadable == ("narrow",)
    tokens.add(made("plain"))

    newest = orjson.loads(documents(file_io)[-1])
    assert newest["tokens"][0] == narrow
    assert newest["kind"] == "new"
    with pytest.raises(InvalidRequest, match="named 'narrow' already"):
        tokens.add(made("narrow"))
    tokens.revoke("narrow")
    assert tokens.stored().unreadable == ()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"tokens": 7}', b'{"tokens": [7]}', b"{}"])
def test_a_document_that_is_not_readable_is_an_error(
    tokens: AccessTokens, file_io: MemoryFileIO, data: bytes
) -> None:
    file_io.write_new(f"{access_tokens_directory('/w')}/{1:020d}.json", data)

    with pytest.raises(CorruptData):
        tokens.stored()
    with pytest.raises(CorruptData):
        tokens.add(made("a"))


def test_tokens_that_are_made_and_revoked_are_in_the_audit_log(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    tokens = AccessTokens(file_io, "/w", clock, actor=Actor(name="ops"))
    grant = Grant(scope=AccessScope.READ, tables=("shop.*",))
    for name in ("first", "second"):
        tokens.add(token_of(random_text(), name, [grant], now_ms=clock.now_ms()))
        clock.advance(ms=1_000)
    tokens.revoke("first")

    store = RegistryStore(file_io, "/w", clock)
    entries = AuditPages(store, file_io).page(AuditFilter(), limit=10).entries

    assert [(entry.action, entry.changes[0].pointer) for entry in entries] == [
        ("revoke_token", "/tokens/first"),
        ("create_token", "/tokens/second"),
        ("create_token", "/tokens/first"),
    ]
    assert {entry.actor.name for entry in entries} == {"ops"}
    assert entries[0].changes[0].before["grants"] == [grant.model_dump(mode="json")]
    assert entries[0].changes[0].after is None
    assert "digest" not in str(entries)
