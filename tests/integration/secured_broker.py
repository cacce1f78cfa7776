"""Secured broker for tests: TLS, mutual TLS, and every SASL mechanism, with a token endpoint beside it.

Certificates, the signed token and the key that verifies it are in `tests/support/kafka_tls`. Their private keys
are used nowhere else, and that of the token is kept nowhere.
"""

import base64
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kafka.admin import UserScramCredentialUpsertion

from braid.demo.broker import KafkaBroker
from tests.support.doc_examples import ROOT

TLS = ROOT / "tests" / "support" / "kafka_tls"
SASL_SSL = "SASL_SSL"
SSL = "SSL"
USER = "al=ice,b"
PASSWORD = 'pa"ss\\word=,;1'
"""With characters that JAAS, SCRAM and Java's properties each have to escape."""
KEY_PASSWORD = 'key pass"word'
CLIENT_SECRET = "s3cret of client"

_SECURITY = "org.apache.kafka.common.security"
_OAUTH = f"{_SECURITY}.oauthbearer.OAuthBearer"
_JAAS_PASSWORD = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')


@contextmanager
def secured_broker(directory: Path) -> Iterator[KafkaBroker]:
    """Run a broker that speaks SASL over TLS, and TLS with certificates of clients."""
    keys = f"file://{TLS / 'jwks.json'}"
    sasl = "listener.name.sasl_ssl"
    plain = f'{_SECURITY}.plain.PlainLoginModule required user_plain="{_JAAS_PASSWORD}";'
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(TLS / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(TLS / "authority.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        # A backslash escapes in a file of properties as well.
        f"{sasl}.plain.sasl.jaas.config": plain.replace("\\", "\\\\"),
        f"{sasl}.oauthbearer.sasl.jaas.config": f"{_OAUTH}LoginModule required;",
        f"{sasl}.oauthbearer.sasl.server.callback.handler.class": f"{_OAUTH}ValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url": keys,
    }
    for mechanism in ("scram-sha-256", "scram-sha-512"):
        module = f"{_SECURITY}.scram.ScramLoginModule required;"
        settings[f"{sasl}.{mechanism}.sasl.jaas.config"] = module
    broker = KafkaBroker(
        directory,
        settings=settings,
        secured=(SASL_SSL, SSL),
        java_options=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys}"],
    )
    with broker:
        set_scram_password(broker, PASSWORD)
        yield broker


def set_scram_password(broker: KafkaBroker, password: str) -> None:
    """Set the password of `USER` for both SCRAM mechanisms."""
    with closing(broker.admin()) as admin:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            # A user may be altered once in a request.
            credential = UserScramCredentialUpsertion(USER, mechanism, password)
            assert admin.alter_user_scram_credentials([credential]) == {USER: None}


@contextmanager
def token_endpoint() -> Iterator[str]:
    """Run a token endpoint for the client `braid`, and yield its address."""
    login = base64.b64encode(f"braid:{CLIENT_SECRET}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"]))
            is_known = self.headers["Authorization"] == f"Basic {login}"
            is_known = is_known and b"grant_type=client_credentials" in form
            token = (TLS / "token.jwt").read_text().strip()
            answer = f'{{"access_token": "{token}", "expires_in": 3600}}'
            body = (answer if is_known else '{"error": "invalid_client"}').encode()
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/token"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
