"""The example of the guide about rows that expire."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "row-ttl.md"


def test_the_example_prints_the_given_result(capsys: pytest.CaptureFixture[str]) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    example = re.search(
        r"<!-- example: python -->\n```python\n(.*?)```\n\nThis prints `(.*?)`", text, re.DOTALL
    )
    assert example is not None

    exec(compile(example.group(1), str(GUIDE), "exec"), {})  # our own documentation

    assert capsys.readouterr().out.strip() == example.group(2)
