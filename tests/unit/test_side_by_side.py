"""The two halves of the test run, on folders of a test or two."""

from pathlib import Path

import pytest

from tests.side_by_side import main

CONFIG = Path(__file__).parents[2] / "pyproject.toml"
PASSES = "def test_one():\n    pass\n"
SERVER = "import pytest\n\n@pytest.mark.integration\ndef test_two():\n    assert {}\n"


@pytest.mark.parametrize(
    ("engine", "server", "code"),
    [
        (PASSES, SERVER.format("True"), 0),
        (PASSES, SERVER.format("False"), 1),
        (PASSES.replace("pass", "assert False"), SERVER.format("True"), 1),
        (PASSES, "", 0),
        ("", "", 5),
    ],
    ids=["both-pass", "server-fails", "other-fails", "one-half-empty", "nothing-chosen"],
)
def test_a_failure_of_either_half_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], engine: str, server: str, code: int
) -> None:
    (tmp_path / "test_engine.py").write_text(engine)
    (tmp_path / "test_server.py").write_text(server)

    found = main(["-c", str(CONFIG), "--rootdir", str(tmp_path), "-q", str(tmp_path)])

    assert found == code
    if "assert False" in server:
        assert "test_two" in capfd.readouterr().out
