"""Options of security that not every client can apply, and what to do about them."""

import pytest

from braid.formats.kafka_security.known_options import APPLIED, refusal_hint


def test_applied_options_and_those_of_other_subjects_are_not_refused() -> None:
    others = ("client.id", "fetch.max.bytes", "request.timeout.ms")

    assert {refusal_hint(name) for name in (*APPLIED, *others)} == {None}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ssl.truststore.password", "PEM"),
        ("sasl.kerberos.kinit.cmd", "Kerberos"),
        ("sasl.login.class", "Java class"),
        ("security.providers", "leave it out"),
    ],
)
def test_an_option_that_only_java_can_apply_has_a_hint(name: str, hint: str) -> None:
    assert hint in (refusal_hint(name) or "")
