"""Logins as JAAS writes them, read by Java's rules and written so that any secret survives."""

import pytest
from hypothesis import given, settings, strategies as st

from braid.formats.kafka_security.jaas import JaasError, JaasLogin, parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_login_has_a_module_and_options() -> None:
    login = parse_jaas(
        f"""
        {PLAIN} Required // comment
          username="me" /* "more" */ password='a;b="c\\'\\\\\\101\\n';
        """
    )

    assert (login.module, login.module_name, login.flag) == (PLAIN, "PlainLoginModule", "required")
    assert login.options == {"username": "me", "password": "a;b=\"c'\\A\n"}
    assert "a;b" not in repr(login)


@pytest.mark.parametrize("written", ["${file:/run/a b=c;}", "${env:A}${env:B}", "a${b", "${}x"])
def test_a_reference_needs_no_quotes(written: str) -> None:
    assert parse_jaas(f"{PLAIN} required password={written};").options == {"password": written}


@settings(max_examples=60)
@given(st.dictionaries(st.from_regex(r"[a-z][a-zA-Z_]{0,8}", fullmatch=True), st.text()))
def test_any_secret_survives_writing_and_reading(options: dict[str, str]) -> None:
    login = JaasLogin(module=PLAIN, options=options)

    assert parse_jaas(login.text) == login


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected `<login module>"),
        (f"{PLAIN} required", "expected `<login module>"),
        (f"{PLAIN} username='s3cret';", "expected one of required"),
        (f"{PLAIN} required username='s3cret'", "`;` at the end"),
        (f"{PLAIN} required username 's3cret';", "expected options"),
        (f"{PLAIN} required s3cret;", "expected options"),
        (f"{PLAIN} required a='s3cret'; {PLAIN} required b='s3cret';", "one login module only"),
        (f'{PLAIN} required password="s3cret;', "quotes at both ends"),
        (f'{PLAIN} required password="s3\ncret";', "quotes at both ends"),
        (f"{PLAIN} required a='{'s3cret' * 20_000}';", "more than"),
    ],
)
def test_a_text_that_is_no_login_is_refused_without_being_shown(text: str, message: str) -> None:
    with pytest.raises(JaasError, match=message) as caught:
        parse_jaas(text)

    assert "s3" not in str(caught.value)
