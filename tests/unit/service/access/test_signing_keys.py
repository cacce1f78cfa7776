"""Public keys of issuers, from files and over HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from braid.service.access.signing_keys import KeysUnavailable, load_keys, parse_keys
from braid.service.issuers import Issuer
from tests.unit.service.access.issued import issuer_of, public_entry, rsa_key

PRIVATE = rsa_key()


def issuer_at(source: str) -> Issuer:
    return issuer_of().model_copy(update={"jwks": source})


def keys_of(*entries: Any) -> bytes:
    return json.dumps({"keys": list(entries)}).encode()


def test_keys_of_a_file_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(keys_of(public_entry(PRIVATE, "one", alg="RS256", use="sig")))

    (key,) = load_keys(issuer_at(str(path)))

    assert (key.key_id, list(key.algorithms)) == ("one", ["RS256"])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b'{"keys": {}}',
        b'{"keys": []}',
        b'{"keys": [7, {}, {"kty": "RSA"}, {"kty": 7}]}',
        keys_of({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}),
        keys_of(public_entry(PRIVATE, "one", use="enc")),
        keys_of(public_entry(PRIVATE, "one", alg="RS512")),  # not among those of the issuer
        b" " * (1 << 20) + b"{}",
        b'{"keys": ' + b"[" * 100_000,
        keys_of(
            json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE))
        ),  # everybody could sign with it
    ],
)
def test_a_set_without_a_usable_key_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_keys(data, issuer_of())


def test_a_private_key_is_not_needed_and_other_kinds_need_to_be_accepted() -> None:
    public = ed25519.Ed25519PrivateKey.generate().public_key()
    entry = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(public))
    with pytest.raises(ValueError, match="RS256, ES256"):
        parse_keys(keys_of(entry), issuer_of())
    accepting = issuer_of().model_copy(update={"algorithms": ("EdDSA",)})

    (key,) = parse_keys(keys_of(entry), accepting)

    assert list(key.algorithms) == ["EdDSA"]


@pytest.fixture
def server() -> Iterator[str]:
    """A server that has a set of keys at `/keys`, redirects from `/moved`, and fails elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            statuses = {"/keys": 200, "/moved": 302}
            self.send_response(statuses.get(self.path, 500))
            self.send_header("location", "/keys")
            self.end_headers()
            self.wfile.write(keys_of(public_entry(PRIVATE, "one")))

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_keys_of_an_address_are_loaded(server: str) -> None:
    assert [key.key_id for key in load_keys(issuer_at(f"{server}/keys"))] == ["one"]


@pytest.mark.parametrize("path", ["/moved", "/broken"])
def test_another_answer_is_no_set_of_keys(server: str, path: str) -> None:
    with pytest.raises(KeysUnavailable, match="HTTP Error"):
        load_keys(issuer_at(f"{server}{path}"))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeysUnavailable, match="No such file"):
        load_keys(issuer_at(str(tmp_path / "absent")))
