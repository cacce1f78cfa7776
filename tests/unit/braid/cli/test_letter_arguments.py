"""Ranges of offsets are given as PARTITION:START-END."""

import pytest
import typer

from braid.cli.letter_arguments import selection
from braid.schemas import LetterSelection, OffsetSpan


def test_ranges_and_reasons_are_read() -> None:
    assert selection(["malformed"], ["0:5-9", "11:0-1"]) == LetterSelection(
        reasons=("malformed",),
        offsets={"0": OffsetSpan(start=5, end=9), "11": OffsetSpan(start=0, end=1)},
    )


@pytest.mark.parametrize("text", ["", "0", "0:5", "0:5-", "0:9-5", "0:5-5", "x:1-2", "-1:1-2"])
def test_another_text_ends_the_command(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        selection([], [text])

    assert "expected PARTITION:START-END" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["0:1-2", "1:1-2", "00:7-9"], "a second one of partition 0"),
        ([f"0:1-{10**30}"], "expected offsets up to"),
    ],
)
def test_a_range_that_would_not_be_taken_ends_the_command(
    texts: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        selection([], texts)

    assert why in capsys.readouterr().err
