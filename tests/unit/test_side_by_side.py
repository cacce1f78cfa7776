"""The parts of the test run, on folders of a few tests."""

from pathlib import Path

import pytest

from tests.side_by_side import (
    ALONE,
    BESIDE,
    ENVIRONMENT,
    LONG,
    SHORT,
    UNIT_GROUPS,
    WHOLLY_BESIDE,
    WITH_A_BROWSER,
    files_with,
    main,
)

CONFIG = Path(__file__).parents[2] / "pyproject.toml"
PASSES = "def test_one():\n    pass\n"
SERVER = "import pytest\n\n@pytest.mark.integration\ndef test_two():\n    assert {}\n"
JAVA = SERVER.replace("integration", "interop").replace("two", "three")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "server", "java", "code"),
    [
        (PASSES, SERVER.format("True"), JAVA.format("True"), 0),
        (PASSES, SERVER.format("False"), JAVA.format("True"), 1),
        (PASSES, SERVER.format("True"), JAVA.format("False"), 1),
        (PASSES.replace("pass", "assert False"), SERVER.format("True"), "", 1),
        (PASSES, "", "", 0),
        ("", "", "", 5),
    ],
    ids=["all-pass", "server-fails", "java-fails", "other-fails", "empty-parts", "nothing-chosen"],
)
def test_a_failure_of_any_part_is_the_exit_code(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    server: str,
    java: str,
    code: int,
) -> None:
    (tmp_path / "test_engine.py").write_text(engine)
    (tmp_path / "test_server.py").write_text(server)
    (tmp_path / "test_java.py").write_text(java)

    # Nothing of other plugins than the configuration's is of use here, and each pytest would load them.
    monkeypatch.setitem(ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = ["-c", str(CONFIG), "-p", "pytest_timeout", "--rootdir", str(tmp_path), "-q"]
    found = main([*options, str(tmp_path)])

    assert found == code
    told = capfd.readouterr().out
    assert ("test_two" in told) == ("assert False" in server)
    assert ("test_three" in told) == ("assert False" in java)


def test_the_folders_of_the_parts_are_there() -> None:
    chosen = (*LONG, SHORT, *UNIT_GROUPS, WHOLLY_BESIDE, [WITH_A_BROWSER])
    folders = [folder for folders in chosen for folder in folders]
    assert [folder for folder in folders if not (CONFIG.parent / folder).is_dir()] == []


def test_tests_that_start_their_own_servers_are_in_one_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of a file's tests move, so none of them may be without a marker of servers."""
    monkeypatch.chdir(CONFIG.parent)
    servers = next(iter(BESIDE.values()))
    assert set(ALONE) <= set(files_with(servers))


def test_files_of_folders_that_are_left_out_are_in_a_part_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(CONFIG.parent)
    markers = [marker for names in BESIDE.values() for marker in names]
    files = {str(file) for folder in WHOLLY_BESIDE for file in Path(folder).glob("test_*.py")}
    assert files
    assert files <= set(files_with(markers))
