"""Ranges of offsets are given as PARTITION:START-END."""

import pytest
import typer

from braid.cli.letters import selection
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
