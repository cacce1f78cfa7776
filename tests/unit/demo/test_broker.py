"""The broker for experiments says how it is used, without a start."""

import pytest

from braid.demo.broker import main


@pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--topics=orders", 2)])
def test_an_option_is_not_a_topic(
    argument: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([argument])

    written = capsys.readouterr()
    assert ended.value.code == status
    assert "usage: python -m braid.demo.broker [-h] [TOPIC ...]" in written.out + written.err
