"""The current token: kept while it is valid, replaced before its end."""

import pytest

from braid.formats.kafka_security.token_source import IssuedToken, TokenSource
from braid.lake import StorageUnavailable


class Issuer:
    """Issues tokens that are numbered."""

    def __init__(self, life_s: float | None) -> None:
        self.life_s = life_s
        self.count = 0
        self.is_down = False

    def __call__(self) -> IssuedToken:
        if self.is_down:
            message = "down"
            raise StorageUnavailable(message)
        self.count += 1
        return IssuedToken(text=f"token {self.count}", life_s=self.life_s)


@pytest.mark.parametrize(
    ("life_s", "kept_s"), [(100.0, 80.0), (None, 48.0), (1_000_000.0, 2_880.0)]
)
def test_a_token_is_kept_for_four_fifths_of_its_life(life_s: float | None, kept_s: float) -> None:
    issuer, now = Issuer(life_s), [1_000.0]
    source = TokenSource(issuer, now_s=lambda: now[0])

    first = source.token()
    now[0] += kept_s - 1
    kept = source.token()
    now[0] += 1
    replaced = source.token()

    assert (first, kept, replaced) == ("token 1", "token 1", "token 2")


def test_an_issuer_that_fails_is_asked_again() -> None:
    issuer = Issuer(100.0)
    issuer.is_down = True
    source = TokenSource(issuer, now_s=lambda: 0.0)

    with pytest.raises(StorageUnavailable):
        source.token()
    issuer.is_down = False

    assert source.token() == "token 1"
    assert "token 1" not in repr(IssuedToken(text="token 1"))
